# The server's image: one static program and the git program it uses for the network.
#
# The base images' names are arguments, so that a mirror or an imported root file system can stand in for them.
ARG BUILD_IMAGE=rust:1.95-bookworm
ARG RUN_IMAGE=debian:bookworm-slim

FROM ${BUILD_IMAGE} AS build
# `dev` builds in a third of the time, for a try.
ARG PROFILE=release
WORKDIR /src
COPY Cargo.toml Cargo.lock ./
COPY migrations migrations
COPY src src
# Tests and benches are not built here; cargo only wants their files to exist.
RUN mkdir -p tests/it tests/digest benches \
    && touch tests/it/main.rs tests/digest/main.rs tests/tidy.rs benches/digest.rs
ENV RUSTFLAGS="-C target-feature=+crt-static" LIBZ_SYS_STATIC=1
RUN target=$(rustc -vV | sed -n 's/^host: //p') \
    && cargo build --profile "$PROFILE" --locked --target "$target" \
    && cp "target/$target/$(echo "$PROFILE" | sed 's/^dev$/debug/')/fixpoint" /fixpoint

FROM ${RUN_IMAGE}
RUN apt-get update \
    && apt-get install -y --no-install-recommends git ca-certificates \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /fixpoint /usr/local/bin/fixpoint
RUN useradd --uid 10000 --create-home --home-dir /var/lib/fixpoint fixpoint
WORKDIR /var/lib/fixpoint
USER fixpoint
VOLUME /var/lib/fixpoint
EXPOSE 3000
ENTRYPOINT ["fixpoint"]
CMD ["serve"]

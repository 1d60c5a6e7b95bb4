//! Typed calls over the service: addresses, lists over many pages, answers read leniently.

use super::errors::GitHubError;
use super::service::Service;
use super::withheld::without;
use bytes::Bytes;
use http::{HeaderMap, Method, header};
use http_body_util::BodyExt;
use octocrab::{AuthState, Octocrab, OctocrabBuilder};
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

/// GitHub's largest page.
const A_PAGE: &str = "100";

/// The API for one caller.
#[derive(Clone)]
pub(super) struct Client {
    octocrab: Octocrab,
    pub(super) service: Service,
}

impl Client {
    pub(super) fn new(service: Service) -> Self {
        let Ok(octocrab) = OctocrabBuilder::new_empty()
            .with_service(service.clone())
            .with_layer(&tower::layer::util::Identity::new())
            .with_auth(AuthState::None)
            .build();
        Self { octocrab, service }
    }

    /// An address below the API's own; each segment is escaped, a slash within one included.
    pub(super) fn url<'a>(&self, segments: impl IntoIterator<Item = &'a str>) -> Url {
        let mut url = self.service.wire.api.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        url
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, url: &Url) -> Result<T, GitHubError> {
        let (_, body) = self.send(Method::GET, url, None).await?;
        decode(url, &body)
    }

    /// A read whose answer is taken as it was written, nulls included.
    pub(super) async fn get_as_it_is<T: DeserializeOwned>(&self, url: &Url) -> Result<T, GitHubError> {
        let (_, body) = self.send(Method::GET, url, None).await?;
        serde_json::from_slice(&body).map_err(|e| unreadable(url, &e))
    }

    /// A read of what may be missing or hidden.
    pub(super) async fn find<T: DeserializeOwned>(&self, url: &Url) -> Result<Option<T>, GitHubError> {
        match self.get(url).await {
            Ok(found) => Ok(Some(found)),
            Err(GitHubError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A write whose answer is wanted.
    pub(super) async fn write<T: DeserializeOwned>(
        &self,
        method: Method,
        url: &Url,
        body: &Value,
    ) -> Result<T, GitHubError> {
        let (_, answer) = self.send(method, url, Some(body)).await?;
        decode(url, &answer)
    }

    /// A write whose answer says nothing that is needed.
    pub(super) async fn tell(
        &self,
        method: Method,
        url: &Url,
        body: Option<&Value>,
    ) -> Result<(), GitHubError> {
        self.send(method, url, body).await.map(|_| ())
    }

    /// A whole list, page by page: a plain array, or the array under `key`. More than `cap` items are an error, for
    /// a list that is cut in silence would be taken for the whole.
    pub(super) async fn list<T: DeserializeOwned>(
        &self,
        url: &Url,
        key: Option<&str>,
        cap: usize,
    ) -> Result<Vec<T>, GitHubError> {
        let mut items = Vec::new();
        let mut next = Some(first_page(url));
        while let Some(url) = next {
            let (headers, body) = self.send(Method::GET, &url, None).await?;
            items.extend(page(&url, key, &body)?);
            if items.len() > cap {
                return Err(GitHubError::Invalid(format!("{}: more than {cap} of them", url.path())));
            }
            next = next_page(&headers);
        }
        Ok(items)
    }

    /// The pages of a list, newest first, until `enough` says so.
    pub(super) async fn list_until<T: DeserializeOwned>(
        &self,
        url: &Url,
        key: Option<&str>,
        pages: usize,
        enough: impl Fn(&T) -> bool,
    ) -> Result<Vec<T>, GitHubError> {
        let mut items = Vec::new();
        let mut next = Some(first_page(url));
        for _ in 0..pages {
            let Some(url) = next else { break };
            let (headers, body) = self.send(Method::GET, &url, None).await?;
            items.extend(page::<T>(&url, key, &body)?);
            next = next_page(&headers).filter(|_| !items.last().is_some_and(&enough));
        }
        Ok(items)
    }

    async fn send(
        &self,
        method: Method,
        url: &Url,
        body: Option<&Value>,
    ) -> Result<(HeaderMap, Bytes), GitHubError> {
        let builder = http::Request::builder().method(method).uri(url.as_str());
        let body = body.map(|body| without(&self.service.secrets, body));
        let request = self.octocrab.build_request(builder, body.as_ref()).map_err(sorted)?;
        let response = self.octocrab.execute(request).await.map_err(sorted)?;
        let (parts, body) = response.into_parts();
        Ok((parts.headers, body.collect().await.map_err(sorted)?.to_bytes()))
    }
}

/// Our service's error, taken out of octocrab's.
fn sorted(error: octocrab::Error) -> GitHubError {
    match error {
        octocrab::Error::Service { source, .. } => match source.downcast::<GitHubError>() {
            Ok(ours) => *ours,
            Err(other) => GitHubError::Unavailable(other.to_string()),
        },
        other => GitHubError::Invalid(other.to_string()),
    }
}

fn first_page(url: &Url) -> Url {
    let mut url = url.clone();
    url.query_pairs_mut().append_pair("per_page", A_PAGE);
    url
}

fn page<T: DeserializeOwned>(url: &Url, key: Option<&str>, body: &[u8]) -> Result<Vec<T>, GitHubError> {
    let Some(key) = key else { return decode(url, body) };
    let mut object: serde_json::Map<String, Value> = decode(url, body)?;
    let items = object.remove(key).unwrap_or(Value::Array(Vec::new()));
    serde_json::from_value(items).map_err(|e| unreadable(url, &e))
}

/// Reads an answer. A member that is `null` counts as absent, so that a type's defaults cover both: GitHub sends nulls
/// where its own documentation promises values (the author of a comment whose account was deleted, for one).
fn decode<T: DeserializeOwned>(url: &Url, body: &[u8]) -> Result<T, GitHubError> {
    let mut value: Value = serde_json::from_slice(body).map_err(|e| unreadable(url, &e))?;
    drop_nulls(&mut value);
    serde_json::from_value(value).map_err(|e| unreadable(url, &e))
}

/// Bounded in depth: the parser refuses more than 128 levels.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

fn unreadable(url: &Url, error: &serde_json::Error) -> GitHubError {
    GitHubError::Unreadable(format!("{}: {error}", url.path()))
}

/// Source: RFC 8288, as GitHub REST, "Using pagination in the REST API", uses it.
fn next_page(headers: &HeaderMap) -> Option<Url> {
    let links = headers.get(header::LINK)?.to_str().ok()?;
    let next = links.split(',').find(|link| link.split(';').skip(1).any(|p| p.trim() == "rel=\"next\""))?;
    Url::parse(next.split(';').next()?.trim().strip_prefix('<')?.strip_suffix('>')?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_found_among_the_links() {
        let links = r#"<https://h/a?page=1>; rel="prev", <https://h/a?page=3&x=y>; rel="next""#;
        let headers = HeaderMap::from_iter([(header::LINK, links.parse().unwrap())]);
        assert_eq!(next_page(&headers).unwrap().as_str(), "https://h/a?page=3&x=y");
        assert_eq!(next_page(&HeaderMap::new()), None);
    }
}

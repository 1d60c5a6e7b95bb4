// Renders the tour's chapters as GitHub shows them and takes a picture of each: for scripts/tour.sh.
//
//   node tour.mjs PAGE FOLDER
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { resolve } from "node:path";
import { marked } from "marked";
import sharp from "sharp";

const [page, folder] = process.argv.slice(2);
const css = readFileSync(createRequire(import.meta.url).resolve("github-markdown-css/github-markdown.css"), "utf8");
mkdirSync(folder, { recursive: true });

const BY = { comment: "commented", note: "commented", pull: "opened this pull request", check: "reported a check" };

// A comment's line ends are seen as such, a check run's are not.
function face(kind, text) {
    // GitHub shows a whole commit's name as a link of seven digits.
    const short = text.trim().replace(/\b([0-9a-f]{7})[0-9a-f]{33}\b/g, "[`$1`](#)");
    const body = marked.parse(short, { gfm: true, breaks: kind !== "check" });
    // Folds are shown closed, as they come.
    return `<div class="box"><div class="head"><b>fixpoint-acme</b> <span class="bot">bot</span> ${BY[kind]}</div>
        <article class="markdown-body">${body}</article></div>`;
}

function chapter(title, text) {
    const html = text.split(/^### /m).slice(1).map((part) => {
        const [, name, when, kind, body] = part.match(/^(.*)\n\n\*(.*)\*\n\n<!-- (\w+) -->\n([^]*?)\n<!-- end -->/);
        return `<h3>${marked.parseInline(name)}</h3><p class="when">${marked.parseInline(when)}</p>${face(kind, body)}`;
    });
    return `<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>
<style>${css}
:root { --page: #fff; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --head: #f6f8fa; }
@media (prefers-color-scheme: dark) {
    :root { --page: #0d1117; --ink: #f0f6fc; --soft: #9198a1; --line: #3d444d; --head: #151b23; }
}
body { margin: 0; padding: 24px; background: var(--page); color: var(--ink); }
body, .markdown-body { font-family: "Noto Sans", "DejaVu Sans", sans-serif; }
h2 { margin: 0 0 8px; font-size: 24px; }
h3 { margin: 28px 0 0; font-size: 16px; }
.when { margin: 2px 0 8px; color: var(--soft); font-size: 14px; }
.box { border: 1px solid var(--line); border-radius: 6px; overflow: hidden; }
.head { padding: 8px 16px; background: var(--head); border-bottom: 1px solid var(--line); color: var(--soft); font-size: 14px; }
.head b { color: var(--ink); }
.bot { border: 1px solid var(--line); border-radius: 2em; padding: 0 6px; font-size: 12px; }
.box .markdown-body { padding: 16px; font-size: 14px; overflow-wrap: break-word; }
@media (max-width: 600px) { body { padding: 12px; } }
</style><h2>${title}</h2>${html.join("\n")}`;
}

async function browser() {
    const driver = spawn("chromedriver", ["--port=0"], { stdio: ["ignore", "pipe", "ignore"] });
    let port;
    for await (const line of createInterface({ input: driver.stdout })) {
        port = line.match(/successfully on port (\d+)/)?.[1];
        if (port) break;
    }
    let base = `http://127.0.0.1:${port}/session`;
    const ask = async (path, body, method = "POST") => {
        const answer = await fetch(base + path, { method, body: body && JSON.stringify(body) });
        const { value } = await answer.json();
        if (value?.error) throw new Error(JSON.stringify(value));
        return value;
    };
    const args = ["--headless=new", "--hide-scrollbars", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"];
    base += "/" + (await ask("", { capabilities: { alwaysMatch: { "goog:chromeOptions": { args } } } })).sessionId;
    return {
        go: (url) => ask("/url", { url }),
        devtools: (cmd, params) => ask("/goog/cdp/execute", { cmd, params }),
        quit: async () => {
            await ask("", undefined, "DELETE");
            driver.kill();
        },
    };
}

const text = readFileSync(page, "utf8");
const chapters = text.split(/^## /m).slice(1).filter((part) => part.includes("\n### "));
const tab = await browser();
try {
    for (const part of chapters) {
        const title = part.slice(0, part.indexOf("\n"));
        const name = title.toLowerCase().replace(/[^a-z]+/g, "-");
        const file = resolve(folder, `${name}.html`);
        writeFileSync(file, chapter(title, part));
        await tab.go(pathToFileURL(file).href);
        for (const [size, width] of [["wide", 1012], ["narrow", 390]]) {
            const screen = { width, height: 480, deviceScaleFactor: 1, mobile: false };
            await tab.devtools("Emulation.setDeviceMetricsOverride", screen);
            for (const value of ["light", "dark"]) {
                const features = [{ name: "prefers-color-scheme", value }];
                await tab.devtools("Emulation.setEmulatedMedia", { features });
                const whole = { format: "png", captureBeyondViewport: true };
                const { data } = await tab.devtools("Page.captureScreenshot", whole);
                const picture = sharp(Buffer.from(data, "base64")).png({ palette: true, colours: 16, effort: 10 });
                const { size: bytes } = await picture.toFile(resolve(folder, `${name}-${size}-${value}.png`));
                if (bytes > 150_000) throw new Error(`${name}-${size}-${value}.png has ${bytes} bytes`);
            }
        }
    }
} finally {
    await tab.quit();
}

#!/usr/bin/env python3
"""Checks build/site: links in its files; in a browser its pages, pictures, search, and a phone's width.

Usage: site_check.py [SITE] [--no-browser]

The browser is Debian's chromium, driven by its chromium-driver and selenium from PyPI.
"""

import argparse
import functools
import html.parser
import http.server
import pathlib
import sys
import threading
import time
import urllib.parse

PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
# What the search has to find, and a page that is among the results.
SEARCHES = {
    "GemmArguments": "reference/cpp/arguments.hpp.html",
    "rasterisation": "docs/kernels.html",
    "scaled_mm": "reference/python/estoc.torch.html",
}
LOADS = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src")}


class Page(html.parser.HTMLParser):
    """The anchors of a page, what it links to, and what it loads."""

    def __init__(self, path):
        super().__init__()
        self.anchors = {""}
        self.links = []
        self.loads = []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.anchors.add(value)
            elif (tag, name) == ("a", "href"):
                self.links.append(value)
            elif (tag, name) in LOADS:
                self.loads.append(value)


def broken_links(site):
    """Yields what is wrong with links between the pages, and what is loaded from elsewhere."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        for target in page.links + page.loads:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in page.loads and parts.scheme != "data":
                    yield f"{path.relative_to(site)}: loads {target}"
                continue
            there = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            if not there.is_file():
                yield f"{path.relative_to(site)}: {target} does not exist"
            elif there in pages and target in page.links and (
                urllib.parse.unquote(parts.fragment) not in pages[there].anchors
            ):
                yield f"{path.relative_to(site)}: {target} has no such heading"


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves the site and prints nothing."""

    def log_message(self, format, *arguments):
        pass


def start_browser():
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(option)
    options.binary_location = "/usr/bin/chromium"
    options.set_capability("goog:loggingPrefs", {"browser": "SEVERE"})
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


def page_faults(browser, address, name):
    """Yields what is wrong with a page as the browser shows it, at a desk and on a phone."""
    browser.get(f"{address}/{name}")
    for entry in browser.get_log("browser"):
        if "/favicon.ico" not in entry["message"]:  # a page of the command has none
            yield f"{name}: {entry['message']}"
    if not browser.execute_script("return document.querySelector('h1')?.innerText.trim()"):
        yield f"{name}: has no heading that shows"
    for picture in browser.execute_script(
        "for (const i of document.images) i.loading = 'eager';"
        "return Promise.all([...document.images].map(i => i.decode().then(() => null, () => i.src)))"
    ):
        if picture:
            yield f"{name}: {picture} does not show"
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    if wide > PHONE["width"]:
        yield f"{name}: {wide} pixels wide on a phone of {PHONE['width']}"


def search_faults(browser, address, word, expected):
    """Yields what is wrong with the results of a search."""
    browser.get(f"{address}/search.html?q={word}")
    script = "return [...document.querySelectorAll('#search-results li a')].map(a => a.href)"
    found = []
    for _ in range(100):
        found = browser.execute_script(script)
        if any(expected in each for each in found):
            return
        time.sleep(0.1)
    yield f"search: {word} found {len(found)} pages, without {expected}"


def browser_faults(site):
    """Yields what is wrong in the browser with every page of Sphinx, and some of the files."""
    handler = functools.partial(Quiet, directory=str(site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    pages = [path.relative_to(site).as_posix() for path in sorted(site.rglob("*.html"))]
    files = [name for name in pages if name.startswith("files/")]
    browser = start_browser()
    try:
        for name in [*(name for name in pages if name not in files), *files[::20]]:
            if name != "search.html":  # which has no heading before a search
                yield from page_faults(browser, address, name)
        for word, expected in SEARCHES.items():
            yield from search_faults(browser, address, word, expected)
    finally:
        browser.quit()
        server.shutdown()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    built = pathlib.Path(__file__).resolve().parents[1] / "build/site"
    parser.add_argument("site", nargs="?", type=pathlib.Path, default=built)
    parser.add_argument("--no-browser", action="store_true", help="look at the links alone")
    options = parser.parse_args()
    site = options.site.resolve()
    if not (site / "index.html").is_file():
        sys.exit(f"site_check: {site}: there is no site; scripts/site.sh makes it")
    found = list(broken_links(site))
    if not options.no_browser:
        found += browser_faults(site)
    print("\n".join([*found, f"{len(found)} faults"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

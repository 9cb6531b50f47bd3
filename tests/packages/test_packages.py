"""What is published is built, installed in clean environments, and used as its README says.

The docs' first page is followed there too. Packages that they depend on come from the caches of uv
and npm, or else from the network.
"""

import json
import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from urllib.request import urlopen

import pytest
from tests.browser.site import CLIENT, ROOT, serving_site
from tests.browser.world import World
from tests.docs.markdown import blocks_of
from tests.docs.walk import steps
from tests.tools import free_port, missing

from devote.boards.board import Experiment
from devote.protocol import ExperimentSpec
from devote.schemes import Survey

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.timeout(600)]

BIN = Path(sys.executable).parent
NPM = {"devote": ROOT / "clients/js", "@devote/openfeature-web": ROOT / "clients/openfeature-web"}
SDK = ["@openfeature/web-sdk", "@openfeature/core"]


def run(*command, cwd, env=None):
    ran = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    return ran.stdout


def blocks(page, language):
    return [text for _, kind, text, _ in blocks_of(page) if kind == language]


# The wheel.


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    """A folder, and an environment with the wheel and nothing of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    run(BIN / "python", "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT, cwd=folder)
    (wheel,) = folder.glob("devote-*.whl")
    run(BIN / "uv", "venv", "-q", "venv", cwd=folder)
    wanted = f"devote[cli,serve,fleet,sim] @ {wheel.as_uri()}"
    python = folder / "venv/bin/python"
    run(BIN / "uv", "pip", "install", "-q", "--python", python, wanted, cwd=folder)
    places = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    names = ("PYTHONPATH", "VIRTUAL_ENV")
    env = {name: value for name, value in os.environ.items() if name not in names}
    return folder, {**env, "PATH": places}


def answers(address, background, seconds=60.0):
    until = time.monotonic() + seconds
    while True:
        try:
            return urlopen(address, timeout=5).read()
        except OSError:
            assert time.monotonic() < until
            assert all(process.poll() is None for process in background)
            time.sleep(0.1)


def test_the_wheel_has_its_types_licence_and_page_and_runs_the_readme(clean):
    folder, env = clean
    where = "import devote, pathlib; print(pathlib.Path(devote.__file__).parent)"
    package = Path(run("python", "-c", where, cwd=folder, env=env).strip())
    assert package.is_relative_to(folder)
    assert (package / "py.typed").exists()
    assert (package / "page/static").is_dir()
    assert [*package.parent.glob("devote-*.dist-info/licenses/LICENSE")]
    simulation, device = blocks(ROOT / "README.md", "python")
    assert "good answers" in run("python", "-c", simulation, cwd=folder, env=env)
    assert "devote" in run("devote", "--version", cwd=folder, env=env)
    compile(device, "README.md", "exec")


def test_six_steps_lead_to_a_survey_on_a_page_of_ones_own(clean, chromium, background):
    folder, env = clean
    ports = {"8600": str(free_port()), "8000": str(free_port())}
    copy = folder / CLIENT.relative_to(ROOT)
    copy.parent.mkdir(parents=True)
    copy.write_bytes(CLIENT.read_bytes())

    def change(text):
        text = text.replace("devote serve", "devote serve --port 8600")
        text = text.replace("reply_after = 10.0", "reply_after = 1.0")
        for port, free in ports.items():
            text = text.replace(port, free)
        return text

    text = (ROOT / "docs/start.md").read_text(encoding="utf-8")
    assert text.count("\n## ") == 6
    for mark, _, text in steps("start.md", folder, change):
        if mark != "background":
            run("bash", "-euc", text, cwd=folder, env=env)
            continue
        background.append(
            subprocess.Popen(["bash", "-euc", text], cwd=folder, env=env, start_new_session=True)
        )
        is_server = "devote serve" in text
        port = ports["8600"] if is_server else ports["8000"]
        answers(f"http://127.0.0.1:{port}/{'health' if is_server else ''}", background)
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{ports['8000']}")
        page.wait_for_function("() => banner.textContent")
        assert page.inner_text("#banner") in ("spring", "summer", "autumn")
        page.click("#banner")
        tally = f"http://127.0.0.1:{ports['8600']}/experiments/banner/tally"
        until = time.monotonic() + 60.0
        while json.loads(answers(tally, background))["number"] == 0:
            assert time.monotonic() < until
            page.wait_for_timeout(200)


# The packages of npm.


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """A folder of npm's in which both packages were installed from their tarballs."""
    if not all((folder / "node_modules/.bin/tsc").exists() for folder in NPM.values()):
        missing("The packages are built with npm's modules: make client")
    folder = tmp_path_factory.mktemp("npm")
    for source in NPM.values():
        run("npm", "pack", "--silent", "--pack-destination", folder, cwd=source)
    tarballs = sorted(folder.glob("*.tgz"))
    for tarball in tarballs:
        with tarfile.open(tarball) as packed:
            names = {name.removeprefix("package/") for name in packed.getnames()}
        assert {"README.md", "LICENSE", "dist/types/index.d.ts", "package.json"} <= names
        assert not any(name.startswith(("src/", "test/", "node_modules/")) for name in names)
    (folder / "package.json").write_text('{"private": true, "type": "module"}')
    sdk = json.loads((NPM["@devote/openfeature-web"] / "package.json").read_text())
    version = f"{SDK[0]}@{sdk['devDependencies'][SDK[0]]}"
    quiet = ("--silent", "--prefer-offline", "--no-audit", "--no-fund")
    run("npm", "install", *quiet, *tarballs, version, cwd=folder)
    return folder


def example(package):
    """The first block of its README."""
    return blocks(NPM[package] / "README.md", "js")[0]


def test_the_installed_types_fit_what_the_readmes_do(modules):
    for number, package in enumerate(NPM):
        (modules / f"{number}.ts").write_text(example(package) + "\nexport {};\n")
    tsc = NPM["devote"] / "node_modules/.bin/tsc"
    options = ["--noEmit", "--strict", "--target", "es2022", "--module", "es2022"]
    options += ["--moduleResolution", "bundler", "--lib", "es2022,dom"]
    run(tsc, *options, "0.ts", "1.ts", cwd=modules)
    (modules / "wrong.ts").write_text('import { join } from "devote";\njoin(1);\n')
    with pytest.raises(AssertionError, match=r"wrong\.ts"):
        run(tsc, *options, "wrong.ts", cwd=modules)


@pytest.mark.parametrize("package", NPM)
def test_the_installed_packages_do_in_a_page_what_their_readmes_say(
    modules, chromium, tmp_path, package
):
    """The page shows an arm, and what its visitor clicks arrives as an answer."""
    entries = {
        "devote": "devote/dist/devote.js",
        "@devote/openfeature-web": "@devote/openfeature-web/dist/openfeature-web.js",
        **{name: f"{name}/dist/esm/index.js" for name in SDK},
    }
    imports = json.dumps({"imports": {name: f"/{path}" for name, path in entries.items()}})
    with serving_site() as site, World(site, tmp_path) as world:
        scheme = Survey(privacy=None, reply_after=1.0)
        arms = ("spring", "summer")
        spec = ExperimentSpec(arms=arms, name="banner", epsilon=0.5, scheme=scheme)
        world.operator.open(Experiment(spec, "open"))
        script = example(package).replace("http://127.0.0.1:8600", world.address)
        html = f'<!doctype html><script type="importmap">{imports}</script><body></body>'
        page_text = f'{html}<script type="module">{script}</script>'
        site.changed = {
            path: (modules / "node_modules" / path).read_bytes() for path in entries.values()
        }
        site.changed["page.html"] = page_text.encode()
        with chromium.new_context() as context:
            page = context.new_page()
            for _ in range(20):  # on a busy machine the first join may take too long
                page.goto(f"{site.origin}/page.html")
                page.wait_for_function("() => document.body.textContent && document.body.onclick")
                page.click("body", force=True)
                until = time.monotonic() + 5.0
                while not world.answers(spec) and time.monotonic() < until:
                    page.wait_for_timeout(100)
                if world.answers(spec):
                    break
            (answer,) = world.answers(spec)
            assert (page.inner_text("body"), answer.bit) == (arms[answer.arm], 1)

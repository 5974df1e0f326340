"""Pages that stand by themselves, and the modules that they are made of."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from congenial.kernel.errors import ConfigError
from congenial.kernel.trace import Event
from congenial.sim.scenario import Scenario
from congenial.studio.pages import FRONT_END, IMPORT, bundle, modules, page, write_page
from congenial.studio.recording import Recording, simulated
from loud import not_run

RUN = simulated(Scenario("token-gme", nodes=3, groups=2, requests=2))


def test_every_module_is_part_of_the_bundle() -> None:
    assert sorted(modules()) == sorted([path.name for path in FRONT_END.glob("*.js")])
    assert modules()[-1] == "main.js"


def test_modules_import_in_the_one_way_that_the_bundle_knows() -> None:
    for name in modules():
        text = (FRONT_END / name).read_text()
        assert len(IMPORT.findall(text)) == len(re.findall(r"^import\b", text, re.MULTILINE)), name
        assert not re.search(r"^export (default|\{|\*)", text, re.MULTILINE), name
    assert not re.search(r"^(import|export)\b", bundle(), re.MULTILINE)


def test_no_two_modules_have_a_name_in_common() -> None:
    names = re.findall(r"^(?:async )?(?:class|function|const|let) (\w+)", bundle(), re.MULTILINE)
    assert len(names) > 20
    assert [name for name, times in Counter(names).items() if times > 1] == []


def test_a_page_names_nothing_elsewhere() -> None:
    text = page(RUN).decode()
    places = set(re.findall(r"https?://[^\s\"'`)]+", text))
    assert places == {"http://www.w3.org/2000/svg"}  # the name of SVG elements, which nobody fetches
    assert not re.search(r"""(src|href)=["']""", text)
    assert "default-src 'none'" in text


def test_what_is_in_a_message_stays_data() -> None:
    evil = "</script><script>alert(1)</script>"
    events = [Event(0.0, "send", 0, 1, 1, "Request", {"text": evil})]
    text = page(Recording(RUN.system, events, (("about", evil),), evil, True)).decode()
    assert evil not in text
    found = re.search(r'<script type="application/json" id="run-document">(.*?)</script>', text, re.DOTALL)
    assert found
    assert json.loads(found[1])["verdict"] == evil


def test_a_page_that_cannot_be_written_says_why() -> None:
    with pytest.raises(ConfigError, match="cannot write the page to /proc/x"):
        write_page("/proc/x", RUN)


def test_the_scripts_are_typed() -> None:
    """By comments, which TypeScript's compiler checks; it also finds what is not used."""
    compiler = shutil.which("tsc")
    if compiler is None:
        not_run("the types of the studio's scripts were not checked: no tsc (Debian: apt-get install node-typescript)")
    for name in modules():
        assert (FRONT_END / name).read_text().startswith("// @ts-check\n"), name
    settings = Path(__file__).parents[2] / "src/congenial/studio/page/jsconfig.json"
    ended = subprocess.run([compiler, "-p", str(settings)], capture_output=True, text=True)
    assert (ended.stdout, ended.returncode) == ("", 0)

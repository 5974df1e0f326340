"""The Run view and the studio in a real browser, used as a person would use them."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import Any

import pytest

from browsing import PHONE, slow_algorithm, start, until
from congenial.cli import main
from congenial.sim.scenario import Scenario
from congenial.studio.pages import write_page
from congenial.studio.recording import Recording, simulated


@pytest.fixture(scope="module")
def recording() -> Recording:
    faults: dict[str, Any] = {"crash": "3@120-160", "partition": "0,1|2,3,4,5@60-70", "suspect": "1@30-80"}
    return simulated(Scenario("token-gme", nodes=6, groups=3, requests=8, until=400, **faults), seed=4)


@pytest.fixture(scope="module")
def exported(recording: Recording, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("pages") / "run.html"
    write_page(str(path), recording)
    return path


SCRUB = """async () => {
  const s = document.getElementById('scrub');
  const pen = CanvasRenderingContext2D.prototype;
  let strokes = 0;
  for (const name of ['fill', 'fillRect', 'fillText', 'stroke', 'strokeRect', 'drawImage']) {
    const draw = pen[name];
    pen[name] = function (...given) { strokes++; return draw.apply(this, given); };
  }
  for (let k = 0; k < 20; k++) {
    s.value = String(Number(s.max) * (0.1 + 0.04 * k));
    s.dispatchEvent(new Event('input'));
    await new Promise(requestAnimationFrame);
  }
  return strokes / 20;
}"""  # moves the hand along the whole run; the strokes of the pen for each picture


NEXT = "all => all.findIndex((one) => one.classList.contains('next'))"  # the place of the next step among the moves


def at(page: Any) -> int:
    """The last event that has happened, as the page says."""
    return int(page.get_attribute("#run", "data-at"))


def step(page: Any) -> int:
    return int(page.get_attribute("#run", "data-step"))


def texts(page: Any) -> list[str]:
    """What can happen, as the page says."""
    return [text for text in page.locator("#moves-panel > .moves button").all_inner_texts() if text]


def go_to(page: Any, recording: Recording, kind: str) -> int:
    """Step to the first event of a kind, by scrubbing to just before it."""
    index = next(index for index, event in enumerate(recording.events) if event.event == kind)
    page.evaluate(
        "async ([time]) => { const s = document.getElementById('scrub'); s.step = 'any'; s.value = time;"
        " s.dispatchEvent(new Event('input')); await new Promise(requestAnimationFrame); }",
        [recording.events[index].t + 1e-5],  # a page keeps six digits
    )
    return index


def test_an_exported_page_plays_without_a_server_or_a_network(visit: Any, exported: Path) -> None:
    page = visit(exported, offline=True)
    assert page.inner_text("#title") == "TokenGME"
    assert step(page) == -1
    page.select_option("#speed", "64")  # a busy machine shows few pictures a second
    page.click("#play")
    until(page, lambda: at(page) > 5)
    page.keyboard.press("Space")  # the button has the focus
    page.wait_for_selector("#play[aria-pressed=false]")
    stopped = at(page)
    page.wait_for_timeout(100)
    assert at(page) == stopped
    assert [url for url in page.watched.asked if not url.startswith("file://")] == []


def test_steps_forward_and_back(visit: Any, exported: Path, recording: Recording) -> None:
    page = visit(exported)
    for wanted in (0, 1, 2):
        page.click("#forward")
        assert step(page) == wanted
    text = page.inner_text(".steps .present")
    assert re.search(r"\d (asks|receives|enters)", text)
    page.click("#back")
    assert step(page) == 1
    page.click("#end")
    assert at(page) == len(recording.events) - 1
    page.click("#start")
    assert at(page) == -1
    page.click("#entry-next")
    assert recording.events[at(page)].event in ("enter", "send")
    assert "enters group" in page.inner_text(".steps .present")
    # a neighbour in the list is a place to go to
    before = step(page)
    page.click(".steps .later button >> nth=0")
    assert step(page) == before + 1


def test_everything_has_a_key(visit: Any, exported: Path, recording: Recording) -> None:
    page = visit(exported)
    keys = page.keyboard
    keys.press("ArrowRight")
    keys.press("ArrowRight")
    assert step(page) == 1
    keys.press("ArrowLeft")
    assert step(page) == 0
    keys.press("n")
    first = step(page)
    keys.press("n")
    assert step(page) > first
    keys.press("Shift+N")
    assert step(page) == first
    keys.press("p")
    keys.press("p")
    assert "Process 1" in page.inner_text("#process-panel h2")
    keys.press("Shift+ArrowRight")
    assert recording.events[at(page)].node == 1
    keys.press("m")
    assert " from " in page.inner_text("#steps-panel h2")
    keys.press("Escape")
    assert "Step" in page.inner_text("#steps-panel h2")
    keys.press("]")
    assert page.input_value("#speed") == "2"
    keys.press("[")
    keys.press("[")
    assert page.input_value("#speed") == "0.5"
    keys.press("w")
    assert page.inner_text("#watch option:checked") == "ages"
    keys.press("End")
    assert at(page) == len(recording.events) - 1
    keys.press("Home")
    assert at(page) == -1
    keys.press("?")
    assert page.is_visible("#help")
    keys.press("Escape")
    assert not page.is_visible("#help")
    for _ in range(10):
        keys.press("]")
    keys.press("Space")
    until(page, lambda: at(page) > 0)


def test_keys_work_at_once_after_a_dialog_is_closed(visit: Any, exported: Path) -> None:
    page = visit(exported)
    pressed_before_the_next_picture = """() => {
      const help = document.getElementById('help');
      help.showModal();
      help.close();
      const key = new KeyboardEvent('keydown', { key: ' ', bubbles: true, cancelable: true });
      document.activeElement.dispatchEvent(key);
    }"""
    page.evaluate(pressed_before_the_next_picture)
    assert page.get_attribute("#play", "aria-pressed") == "true"


def test_a_process_shows_its_state_and_what_the_step_changed(visit: Any, exported: Path, recording: Recording) -> None:
    page = visit(exported)
    index = go_to(page, recording, "request")
    process = recording.events[index].node
    page.click(f"#ring [data-process='{process}']")
    assert f"Process {process}" in page.inner_text("#process-panel h2")
    changed = page.inner_text("#process-panel tr[data-variable=phase]")
    assert "idle" in changed
    assert "waiting" in changed
    assert "request[j].type" in page.inner_text("#process-panel tr[data-variable=wanted]")
    assert "def request" in page.inner_text("#source-panel")
    assert "waits" in page.get_attribute(f"#ring [data-process='{process}']", "aria-label")


def test_a_message_shows_its_fields(visit: Any, exported: Path, recording: Recording) -> None:
    page = visit(exported)
    go_to(page, recording, "send")
    sent = page.inner_text(".steps .present")
    page.click("#ring .message >> nth=0", force=True)
    title = page.inner_text("#steps-panel h2")
    assert title.startswith("Request from")
    assert "number" in page.inner_text("#steps-panel table")
    assert "sends Request(number=1" in sent
    page.click("text=Go to its arrival")
    page.click("text=Close")
    assert "receives Request" in page.inner_text(".steps .present")


def test_crashes_partitions_and_suspicions_show(visit: Any, exported: Path, recording: Recording) -> None:
    page = visit(exported)
    go_to(page, recording, "cut")
    assert page.inner_text("#notice") == "The network is split: 0, 1 | 2, 3, 4, 5"
    go_to(page, recording, "suspect")
    assert "suspected by" in page.get_attribute("#ring [data-process='1']", "aria-label")
    go_to(page, recording, "crash")
    assert "crashed" in page.get_attribute("#ring [data-process='3']", "aria-label")
    page.click("#ring [data-process='3']")
    assert "gone" in page.inner_text("#process-panel")


def test_the_diagram_can_be_clicked(visit: Any, exported: Path) -> None:
    page = visit(exported)
    box = page.locator("#diagram").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 10)  # the time above the diagram
    assert at(page) > 0
    page.mouse.click(box["x"] + 30, box["y"] + box["height"] - 30)  # the name of the last process
    assert "Process 5" in page.inner_text("#process-panel h2")
    page.click("#zoom-out")
    page.click("#zoom-in")


def test_the_variable_of_a_tree_is_shown_as_arrows(visit: Any, tmp_path: Path) -> None:
    write_page(f"{tmp_path}/tree.html", simulated(Scenario("raymond-tree", nodes=6, requests=2)))
    page = visit(tmp_path / "tree.html")
    page.select_option("#watch", label="holder")
    assert page.locator("#ring .pointer").count() == 5  # all but the root point to another
    page.select_option("#watch", label="phase")
    assert page.locator("#ring .pointer").count() == 0
    assert page.text_content("#ring [data-process='0'] .watched") == "idle"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_screen_and_a_phone(visit: Any, exported: Path, scheme: str) -> None:
    page = visit(exported, color_scheme=scheme)
    wide, high = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    assert (wide, high) == (1280, 800)
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != colour
    phone = visit(exported, color_scheme=scheme, **PHONE)
    assert phone.evaluate("document.documentElement.scrollWidth") == 390
    phone.tap("#forward")
    phone.tap("#forward")
    assert step(phone) == 1


def test_every_control_has_a_name(visit: Any, exported: Path) -> None:
    page = visit(exported)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('button, select, input')].filter((e) =>
          !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length)).map((e) => e.outerHTML)"""
    )
    assert nameless == []


def test_a_counterexample_is_shown_with_its_verdict(visit: Any, tmp_path: Path, capsys: Any) -> None:
    with pytest.raises(SystemExit):
        main(["check", "maekawa", "--order", "any", "--html", f"{tmp_path}/broken.html"])
    capsys.readouterr()
    page = visit(tmp_path / "broken.html", offline=True)
    assert "cannot make sense of Failed()" in page.inner_text("#verdict")
    page.keyboard.press("End")
    assert page.inner_text("#time") == "step 8 of 8"
    assert "receives Failed() from 0" in page.inner_text(".steps .present")
    assert "_on_failed" in page.inner_text("#source-panel")


def test_an_exported_counterexample_says_what_else_was_possible(visit: Any, tmp_path: Path, capsys: Any) -> None:
    trace = f"{tmp_path}/broken.ndjson"
    for words in (
        ["check", "maekawa", "--order", "any", "--trace", trace, "--html", f"{tmp_path}/check.html"],
        ["fuzz", "maekawa", "--nodes", "3", "--order", "any", "--html", f"{tmp_path}/fuzz.html"],
        ["replay", trace, "--html", f"{tmp_path}/replay.html"],
    ):
        with pytest.raises(SystemExit):
            main(words)
        capsys.readouterr()
        page = visit(tmp_path / f"{words[0]}.html", offline=True)
        assert len(texts(page)) >= 3  # each may ask
        assert page.locator("#moves-panel .next").count() == 1
        page.keyboard.press("End")
        assert "cannot make sense of" in page.inner_text("#moves-panel .wrong")
        assert texts(page) == []
    page.click("#take-back")
    assert "2 receives Failed() from 0" in page.inner_text("#moves-panel .next")
    assert page.is_disabled("text=2 leaves")  # that needs the studio
    page.keyboard.press("Home")
    page.keyboard.press(str(1 + page.locator("#moves-panel > .moves button").evaluate_all(NEXT)))
    assert step(page) == 0
    with page.expect_download() as saved:
        page.click("#save")
    assert saved.value.path().read_text().splitlines()[1:] == Path(trace).read_text().splitlines()[1:]


def test_an_empty_run_says_so(visit: Any, recording: Recording, tmp_path: Path) -> None:
    write_page(f"{tmp_path}/empty.html", Recording(recording.system, [], (), "nothing happened", True))
    page = visit(tmp_path / "empty.html")
    page.click("#play")
    page.click("#forward")
    assert "Nothing happens" in page.inner_text("#steps-panel")


@pytest.mark.deep
def test_a_hundred_thousand_events_are_drawn_piece_by_piece(visit: Any, tmp_path: Path) -> None:
    run = simulated(Scenario("suzuki-kasami", nodes=20, requests=250), most=100_000)
    assert len(run.events) == 100_000
    write_page(f"{tmp_path}/long.html", run)
    page = visit(tmp_path / "long.html")
    assert "100,000 events" in page.inner_text("#about")
    page.keyboard.press("End")
    assert at(page) == 99_999
    for _ in range(30):
        page.keyboard.press("-")
    page.wait_for_selector("#process-panel table", timeout=60_000)
    page.keyboard.press("Home")
    page.keyboard.press("n")
    assert "enters" in page.inner_text(".steps .present")
    strokes = page.evaluate(SCRUB)
    assert strokes < 200  # of the pen, for each picture: what is in view and has not changed is not drawn again


# -- the studio ------------------------------------------------------------------------------------------------


def test_pick_an_algorithm_and_watch_it(visit: Any, studio: tuple[str, Any]) -> None:
    page = visit(studio[0])
    page.select_option("#algorithm", "raymond-tree")
    page.fill("[name=nodes]", "5")
    page.fill("[name='option tree']", "star")
    page.fill("[name=seed]", "9")
    page.click("summary")
    page.fill("[name=pause]", "2@20-60")
    page.click("#setup-form button[type=submit]")
    page.wait_for_selector("#play[aria-pressed=true]")
    page.wait_for_selector("#process-panel table")
    assert page.inner_text("#title") == "Raymond (tree)"
    about = page.inner_text("#about")
    assert "seed 9" in about
    assert "tree star" in about
    page.click("#play")
    page.click("#new-run")
    page.fill("[name=nodes]", "0")
    page.evaluate("document.getElementById('setup-form').noValidate = true")
    page.click("#setup-form button[type=submit]")
    page.wait_for_selector("#setup-problem:has-text('nodes must be at least 1')")
    page.watched.complaints.clear()  # the browser's own line about the answer 400
    page.click("#new-run")
    assert page.is_visible("#ring")


def test_a_long_run_is_shown_while_it_goes_on(visit: Any, tmp_path: Path) -> None:
    page = visit(start(slow_algorithm(tmp_path))[0])
    page.fill("[name=nodes]", "1")
    page.fill("[name=requests]", "400")
    page.click("#setup-form button[type=submit]")
    page.wait_for_selector("#play[aria-pressed=true]")
    assert page.inner_text("#verdict") == "it is still running"
    page.wait_for_selector("#verdict.good:has-text('all 400 requests served')")
    assert "1,200 events" in page.inner_text("#about")
    page.wait_for_selector("#process-panel table")
    page.keyboard.press("End")
    assert at(page) == 1199


@pytest.mark.deep
def test_a_lost_connection_is_shown_and_mended(visit: Any, studio: tuple[str, Any]) -> None:
    page = visit(f"{studio[0]}#compare")
    page.fill("#sweep-values", "4, 9")
    page.click("text=Everything else")
    page.fill("#sweep-most", "3")
    page.click("#sweep-start")
    page.context.set_offline(True)
    page.wait_for_selector("#connection:has-text('does not answer')")
    page.click("#connection-again")
    assert page.is_visible("#connection")
    page.context.set_offline(False)
    page.wait_for_selector("#connection.good:has-text('is back')")
    page.wait_for_selector("#sweep-said:has-text('24 runs in')")  # what it followed, it follows again
    page.wait_for_selector("#connection", state="hidden")
    studio[1].send_signal(signal.SIGSTOP)  # and one that is there, but does not answer
    try:
        page.wait_for_selector("#connection:has-text('does not answer')")
    finally:
        studio[1].send_signal(signal.SIGCONT)
    page.wait_for_selector("#connection.good:has-text('is back')")
    page.watched.complaints.clear()  # the browser's own lines


def test_a_studio_that_is_gone_is_told(visit: Any, studio: tuple[str, Any]) -> None:
    page = visit(studio[0])
    port = int(studio[0].split(":")[2].split("/")[0])
    studio[1].kill()
    studio[1].wait()
    page.click("#setup-form button[type=submit]")
    page.wait_for_selector("#setup-problem:has-text('does not answer')")
    page.wait_for_selector("#connection:has-text('does not answer')")
    start("--port", str(port))  # another one has another secret
    page.wait_for_selector("#connection:has-text('Another studio runs there now')")
    page.click("#setup-form button[type=submit]")
    page.wait_for_selector("#setup-problem:has-text('Another studio runs there now')")
    page.watched.complaints.clear()


def wait_for_steps(page: Any, taken: int) -> None:
    """Until so many steps have been taken and those that can follow are listed."""
    page.wait_for_selector(f"#moves-panel[data-length='{taken}']")


def test_explore_take_steps_take_them_back_and_branch(visit: Any, studio: tuple[str, Any]) -> None:
    page = visit(studio[0])
    page.select_option("#algorithm", "suzuki-kasami")
    page.fill("[name=nodes]", "3")
    page.click("#explore")
    wait_for_steps(page, 0)
    assert texts(page) == ["0 asks to enter", "1 asks to enter", "2 asks to enter"]
    page.click("text=1 asks to enter")
    wait_for_steps(page, 1)
    assert "waits" in page.get_attribute("#ring [data-process='1']", "aria-label")
    page.keyboard.press("1")
    wait_for_steps(page, 2)
    assert "receives Request(number=1) from 1" in page.inner_text(".steps .present")
    page.click("#take-back")
    wait_for_steps(page, 1)
    page.keyboard.press("Backspace")
    wait_for_steps(page, 0)
    page.click("text=0 asks to enter")  # another way from here
    wait_for_steps(page, 1)
    assert "0 enters" in page.inner_text(".steps .present")
    page.click("text=Branch 1: 2 steps")
    wait_for_steps(page, 2)
    assert "receives Request(number=1) from 1" in page.inner_text(".steps .present")
    page.click("#moves-panel summary")
    page.click("text=0 crashes")
    wait_for_steps(page, 3)
    assert "crashed" in page.get_attribute("#ring [data-process='0']", "aria-label")


def test_explore_finds_a_violation_and_saves_it(visit: Any, studio: tuple[str, Any], tmp_path: Path) -> None:
    page = visit(studio[0])
    page.select_option("#algorithm", "maekawa")
    page.select_option("[name=fifo]", "false")
    page.fill("[name=nodes]", "3")
    page.click("#explore")
    wait_for_steps(page, 0)
    page.click("#look")
    page.wait_for_selector("#explore-said:has-text('Found after')")
    assert "ILLEGAL STEP" in page.inner_text("#moves-panel .wrong")
    assert texts(page) == []
    with page.expect_download() as saved:
        page.click("#save")
    saved.value.save_as(tmp_path / "found.ndjson")
    with pytest.raises(SystemExit) as ended:
        main(["replay", str(tmp_path / "found.ndjson")])
    assert ended.value.code == 1


def test_a_counterexample_is_opened_in_explore(visit: Any, tmp_path: Path, capsys: Any) -> None:
    with pytest.raises(SystemExit):
        main(["check", "maekawa", "--order", "any", "--trace", f"{tmp_path}/broken.ndjson"])
    capsys.readouterr()
    page = visit(start(f"{tmp_path}/broken.ndjson")[0])
    wait_for_steps(page, 8)
    assert "cannot make sense of Failed()" in page.inner_text("#moves-panel .wrong")
    page.click("#back")
    wait_for_steps(page, 7)
    assert "2 receives Failed() from 0" in page.inner_text(".moves .next")
    page.click("text=2 leaves")  # and if it had left first?
    wait_for_steps(page, 8)
    assert "nothing is wrong so far" in page.inner_text("#verdict")


def test_check_it_and_open_what_was_found(visit: Any, studio: tuple[str, Any]) -> None:
    page = visit(studio[0])
    page.select_option("#algorithm", "maekawa")
    page.select_option("[name=fifo]", "false")
    page.click("#check-details summary")
    page.click("#check-start")
    page.wait_for_selector("#check-state .bad")
    assert "cannot make sense of Failed()" in page.inner_text("#check-state")
    page.click("#check-open")
    wait_for_steps(page, 8)
    assert "ILLEGAL STEP" in page.inner_text("#moves-panel .wrong")
    page.click("#new-run")
    page.select_option("#algorithm", "lamport")
    page.select_option("[name=fifo]", "")  # without order it fails immediately: there would be nothing to cancel
    page.fill("#check-nodes", "20")
    page.fill("#check-runs", "1000000")
    page.click("#fuzz-start")
    page.click("#check-cancel")
    page.wait_for_selector("#check-state:has-text('it was cancelled')")

"""What a person is told when a search is refused, or an engine fails."""

from selenium.webdriver.common.keys import Keys
from tests.web.browser.driver import Page
from tests.web.browser.stage import LET, QUERY, REFUSE, Stage, first_fails

from veil.proxy.sticky import PreflightBound
from veil.web.pages.words import amount


def test_a_spent_budget_refuses(page: Page, stage: Stage) -> None:
    stage.open(budget=stage.cost(3))
    page.open("/")
    page.search(QUERY)
    sent = len(stage.web.seen)
    page.expected = {403}
    page.search("fever cough")
    assert page.head == "The budget is spent"
    assert "The query is never sent unprotected instead" in page.shown(".refused")
    assert f"all of {amount(stage.cost(3))} spent" in page.shown(".day")
    full, track = (
        page.js(f"return document.querySelector('.day {css}').getBoundingClientRect().width")
        for css in (".full", ".track")
    )
    assert full == track > 0
    assert len(stage.web.seen) == sent
    page.search(QUERY)  # what was released may be asked again
    assert page.head == "Results"
    assert len(stage.web.seen) == sent


def test_the_gate_refuses(page: Page, stage: Stage) -> None:
    stage.open(rules=REFUSE)
    page.expected = {403}
    page.open("/")
    page.search("knee 555 0123")
    assert page.head == "One of your rules refuses this query"
    assert "numbers" in page.shown(".refused")
    assert "555" not in page.shown(".refused")
    assert page.count("button.plain") == 0
    assert stage.web.seen == []
    assert stage.desk.releases(9) == ()


def test_a_query_is_sent_in_clear_on_request_only(page: Page, stage: Stage) -> None:
    stage.open(rules=LET)
    page.open("/")
    page.search(QUERY)
    assert QUERY not in stage.web.seen
    sent = len(stage.web.seen)
    with page.loading():
        page.click("button.plain")
    assert stage.web.seen[sent:] == [QUERY]
    assert "The query itself was sent at your request" in page.shown(".found")
    assert page.variants == []
    assert stage.desk.releases(1)[0].plain
    page.open("/ledger")
    assert "Sent unprotected" in page.shown(".in-clear")
    assert "Quokkapox" not in page.shown()


def test_nothing_goes_in_clear_without_a_rule(page: Page, stage: Stage) -> None:
    page.open("/")
    page.search(QUERY)
    assert page.count("button.plain") == 0
    sent = len(stage.web.seen)
    page.js(
        "const more = document.createElement('input');"
        "more.name = 'plain'; more.value = '1'; document.querySelector('.search').append(more)"
    )
    page.expected = {403}
    page.search(QUERY)
    assert page.head == "One of your rules refuses this query"
    assert len(stage.web.seen) == sent


def test_a_bound_refuses(page: Page, stage: Stage) -> None:
    stage.open(bound=PreflightBound(100))
    page.expected = {403}
    page.open("/")
    page.search(QUERY)
    assert page.head == "Too easy to guess"
    assert "which is within your limit; nothing was sent" in page.shown(".refused")
    assert stage.web.seen == []
    assert stage.desk.budget().spent == 0


def test_an_engine_that_is_down(page: Page, stage: Stage) -> None:
    stage.web.fails = lambda _: "The engine at search.example is down."
    page.expected = {502}
    page.open("/")
    page.search(QUERY)
    assert page.head == "The engine did not answer"
    assert "is down" in page.shown(".refused")
    assert "Searching again sends the same ones" in page.shown(".refused")
    stage.web.fails = lambda _: ""
    page.search(QUERY)
    assert page.head == "Results"
    assert stage.desk.budget().spent == stage.cost(3)


def test_an_engine_that_answers_some(page: Page, stage: Stage) -> None:
    gone, stage.web.fails = first_fails("The engine was <b>busy</b>.")
    page.open(f"/?stop={stage.many}")
    page.search(QUERY)
    assert page.head == "Results"
    (line,) = page.texts("aside .variants li:has(.gap)")
    assert line.startswith(gone[0])
    assert line.endswith("No answer: The engine was <b>busy</b>.")


def test_a_slow_engine(page: Page, stage: Stage) -> None:
    """A page cannot be asked anything while the next one is awaited, so it keeps a diary."""
    stage.web.free.clear()
    page.open("/")
    page.js(
        """
        const form = document.querySelector(".search");
        const [button, told] = [form.querySelector("button"), form.querySelector(".working")];
        let times = 0;
        form.addEventListener("submit", (event) => {
          times += 1;
          sessionStorage.setItem(`time ${times}`, JSON.stringify(
            [event.defaultPrevented, button.disabled, told.textContent]));
          if (times === 1) setTimeout(() => form.requestSubmit());  // as by impatience
        });
        """
    )
    page.paste(QUERY)
    with page.loading():
        page.find("#q").send_keys(Keys.ENTER)
        page.until(lambda: stage.web.seen, "variants")
        stage.web.free.set()
    assert page.head == "Results"
    diary = [
        page.js("return JSON.parse(sessionStorage.getItem(arguments[0]))", f"time {i}")
        for i in (1, 2)
    ]
    told = f"Searching with {stage.size} variants …"
    assert diary == [[False, True, told], [True, True, told]]
    assert page.value(".working", "role") == "status"
    assert page.shown(".working") == ""
    assert stage.desk.releases(1)[0].asked == 1

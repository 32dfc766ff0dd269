from __future__ import annotations

from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient

from autotune.dashboard import access
from autotune.dashboard.access import Door, WrongTries
from autotune.dashboard.app import create_app
from tests.autotune.dashboard.conftest import HERE
from tests.db.nights import Night

TOKEN = "the-right-one"
Visit = Callable[..., TestClient]


@pytest.fixture
def visit(sample: Night) -> Visit:
    """A browser without any cookie before a dashboard on some address."""

    def open_browser(host: str = "127.0.0.1", url: str = HERE, **door: object) -> TestClient:
        app = create_app(sample.path.parent.parent, Door(TOKEN, host, **door))  # type: ignore[arg-type]
        return TestClient(app, base_url=url)

    return open_browser


def test_on_this_machine_everybody_may_read_and_nobody_may_act(visit: Visit) -> None:
    browser = visit()
    page = browser.get("/studies/sample")
    assert page.status_code == 200
    assert "data-ask" not in page.text
    assert browser.post("/api/studies/sample/requests", json={"kind": "stop_now"}).status_code == 401


def test_elsewhere_reading_needs_the_token_too(visit: Visit) -> None:
    browser = visit("0.0.0.0", "http://192.168.7.5:8760")
    for path in ("/", "/studies/sample", "/api/studies", "/metrics", "/api/openapi.json"):
        assert browser.get(path, follow_redirects=False).status_code == 401
    assert browser.get("/healthz").json() == {"status": "ok"}
    assert browser.get("/static/page.css").status_code == 200
    assert 'name="token"' in browser.get("/studies/sample").text
    assert browser.get("/api/studies", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_the_link_puts_the_token_into_a_strict_cookie(visit: Visit) -> None:
    browser = visit("0.0.0.0", "http://192.168.7.5:8760")
    answer = browser.get(f"/studies/sample?level=8&token={TOKEN}")
    cookie = answer.headers["set-cookie"].lower()
    assert {"httponly", "samesite=strict", "path=/"} <= set(cookie.split("; "))
    assert 'content="0;url=/studies/sample?level=8"' in answer.text
    assert TOKEN not in answer.text
    assert browser.get("/studies/sample").status_code == 200
    assert "data-ask" in browser.get("/studies/sample").text


def test_a_token_can_also_be_typed(visit: Visit) -> None:
    browser = visit("0.0.0.0", "http://192.168.7.5:8760")
    assert browser.post("/token", data={"token": "wrong"}).status_code == 401
    assert browser.post("/token", data={"token": f" {TOKEN} "}).status_code == 200
    assert browser.get("/api/studies").status_code == 200
    assert browser.post("/token", data={"token": "x" * 5000}).status_code == 413


def test_a_link_never_leads_to_another_machine(visit: Visit) -> None:
    answer = visit().get(f"//evil.example/?token={TOKEN}")
    assert "url=//" not in answer.text


def test_wrong_tokens_are_listened_to_ten_times_a_minute(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = visit()
    codes = [browser.get("/?token=wrong").status_code for _ in range(12)]
    assert codes == [401] * 9 + [429] * 3
    assert browser.get(f"/?token={TOKEN}").status_code == 429
    now = access.time.monotonic()
    monkeypatch.setattr(access.time, "monotonic", lambda: now + access.WRONG_TRIES_WITHIN_S + 1)
    assert browser.get(f"/?token={TOKEN}").status_code == 200


def test_other_sites_cannot_use_up_the_tries(visit: Visit) -> None:
    browser = visit()
    for how in (
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"},
        {"sec-fetch-site": "cross-site"},
    ):
        codes = {browser.get("/?token=wrong", headers=how).status_code for _ in range(access.WRONG_TRIES)}
        assert codes == {403}
    assert browser.get(f"/?token={TOKEN}").status_code == 200


def test_a_link_in_a_mail_opens_the_page(visit: Visit) -> None:
    how = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert visit().get(f"/?token={TOKEN}", headers=how).status_code == 200


def test_wrong_tries_do_not_shut_out_who_was_let_in_before(visit: Visit) -> None:
    owner = visit("0.0.0.0", "http://192.168.7.5:8760")
    owner.get(f"/?token={TOKEN}")
    for _ in range(access.WRONG_TRIES + 5):
        owner.get("/?token=wrong")
    assert owner.get("/?token=wrong").status_code == 429
    assert owner.get("/api/studies").status_code == 200
    owner.cookies.clear()
    assert owner.get("/api/studies", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert owner.get("/api/studies", headers={"Authorization": "Bearer wrong"}).status_code == 429


def test_a_stranger_who_guessed_too_often_is_not_told_when_it_is_right() -> None:
    door = Door(TOKEN)
    assert door.knows(TOKEN, "10.0.0.2")
    for _ in range(access.WRONG_TRIES):
        assert not door.knows("wrong", "10.0.0.1")
    assert not door.knows(TOKEN, "10.0.0.1")


def test_a_cookie_that_was_not_looked_at_is_not_taken_back(visit: Visit) -> None:
    browser = visit()
    for _ in range(access.WRONG_TRIES):
        browser.get("/?token=wrong")
    browser.cookies.set("autotune-80", TOKEN)
    assert "set-cookie" not in browser.get("/studies/sample").headers


def test_one_address_does_not_shut_out_another() -> None:
    tries = WrongTries()
    for _ in range(access.WRONG_TRIES):
        tries.add("10.0.0.1")
    assert tries.is_over("10.0.0.1")
    assert not tries.is_over("10.0.0.2")


def test_the_cookie_of_an_earlier_dashboard_is_taken_back(visit: Visit) -> None:
    browser = visit()
    browser.cookies.set("autotune-80", "of-yesterday")
    answer = browser.get("/studies/sample")
    assert answer.status_code == 200
    assert "autotune-80=; Max-Age=0" in answer.headers["set-cookie"]


@pytest.mark.parametrize(
    "host, name, answers",
    [
        ("127.0.0.1", "localhost:8760", True),
        ("127.0.0.1", "[::1]:8760", True),
        ("127.0.0.1", "192.168.7.5", False),
        ("127.0.0.1", "evil.example", False),
        ("127.0.0.1", "127.0.0.1.evil.example", False),
        ("127.0.0.1", "", False),
        ("127.0.0.1", "[broken", False),
        ("0.0.0.0", "192.168.7.5:8760", True),
        ("0.0.0.0", "evil.example", False),
        ("box7.lan", "box7.lan:8760", True),
    ],
)
def test_the_page_answers_to_its_own_names_only(host: str, name: str, answers: bool) -> None:
    assert Door(TOKEN, host).answers_to(name) is answers


def test_a_further_name_can_be_given() -> None:
    assert Door(TOKEN, names=["autotune.example"]).answers_to("autotune.example")


@pytest.mark.parametrize(
    "headers, code",
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://["}, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"origin": HERE}, 422),
        ({}, 422),
    ],
)
def test_what_another_site_asks_for_is_refused(visit: Visit, headers: dict[str, str], code: int) -> None:
    browser = visit()
    browser.get(f"/?token={TOKEN}")
    answer = browser.post("/api/studies/sample/requests", json={"kind": "dance"}, headers=headers)
    assert answer.status_code == code


def test_a_token_from_the_starter_is_taken_out_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(access.TOKEN_VARIABLE, "given")
    assert access.token_from_environment() == "given"
    assert access.token_from_environment() is None

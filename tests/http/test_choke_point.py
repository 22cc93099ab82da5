import httpx
import pytest
from litestar import Litestar, get

from stepward import App
from stepward.http.application import declared_routes

from .conftest import caller

ODD_PATHS = (
    "/livez/",
    "//livez",
    "/x/livez",
    "/livez%2f",
    "/api/v1/tasks/..%2f..%2flivez",
    "/LIVEZ",
    "/api/v1/tasks",
    "/api/v1/tasks/x/livez",
    "/api/v1/openapi.json",
    "/nothing",
)


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "POST", "TRACE"])
@pytest.mark.parametrize("path", ODD_PATHS)
async def test_an_unauthenticated_request_is_refused_on_every_path(app: App, method: str, path: str) -> None:
    async with caller(app.asgi()) as client:
        assert (await client.request(method, path)).status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8321", ""])
async def test_a_name_that_is_not_of_loopback_is_refused_where_every_local_user_is_an_admin(
    local: httpx.AsyncClient, host: str
) -> None:
    assert (await local.get("/api/v1/tasks", headers={"Host": host})).status_code == 421


@pytest.mark.parametrize("header", ["Forwarded", "X-Forwarded-For"])
async def test_a_request_through_a_proxy_is_no_local_admins(local: httpx.AsyncClient, header: str) -> None:
    assert (await local.get("/api/v1/tasks", headers={header: "10.0.0.1"})).status_code == 401


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}]
)
async def test_a_page_of_another_site_changes_nothing(local: httpx.AsyncClient, headers: dict[str, str]) -> None:
    assert (await local.post("/api/v1/tasks", headers=headers)).status_code == 403


def test_a_route_without_a_permission_is_found_when_the_application_is_made() -> None:
    @get("/open")
    async def undeclared() -> str:
        return "open"

    with pytest.raises(RuntimeError, match="expected a permission"):
        declared_routes(Litestar([undeclared], openapi_config=None))


async def test_every_answer_carries_the_security_headers(local: httpx.AsyncClient) -> None:
    for path in ("/livez", "/api/v1/tasks", "/nothing"):
        headers = (await local.get(path)).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"

"""The pages for users of Airflow's FAB auth manager, where it is set: `make test-fab`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import conf

from tests.ui.conftest import airflow_server, open_api, open_page, send_form, store

__all__ = ["airflow_server", "open_api", "open_page", "send_form", "store"]

if "fab" not in conf.get("core", "auth_manager"):
    collect_ignore = ["test_roles.py"]

READ = [("can_read", name) for name in ("DAG:acme.numbers", "Assets", "Asset Aliases", "DAG Runs", "Task Instances")]
TRIGGER = [("can_edit", "DAG:acme.numbers"), ("can_create", "DAG Runs")]
ROLES = {"reader": READ, "decider": [*READ, *TRIGGER]}
"""Roles of one DAG; the others are those that FAB has."""


@pytest.fixture(scope="session")
def users(airflow_server: Any) -> dict[str, dict[str, str]]:
    """Return the headers of a user of each role."""
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.providers.fab.www.app import create_app

    app, manager = create_app(enable_plugins=False), get_auth_manager()
    tokens = {}
    with app.app_context():
        security = app.appbuilder.sm
        for name, permissions in ROLES.items():
            role = security.add_role(name)
            for action, resource in permissions:
                security.add_permission_to_role(role, security.create_permission(action, resource))
        for name in (*ROLES, "Viewer", "Public"):
            role = security.find_role(name)
            user = security.add_user(name, name, name, f"{name}@example.org", role, "password")
            tokens[name] = {"Authorization": f"Bearer {manager.generate_jwt(user)}"}
    return tokens


@pytest.fixture
def as_user(users: dict[str, dict[str, str]]) -> Callable[[str], dict[str, str]]:
    return users.__getitem__

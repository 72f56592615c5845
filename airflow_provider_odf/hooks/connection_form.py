"""Forms of connections in Airflow 3.0 and 3.1, which ask the hook for them; later versions read the provider's info."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Hook = TypeVar("Hook", bound=type)


def with_form(connection: Mapping[str, Any]) -> Callable[[Hook], Hook]:
    """Return a decorator that gives a hook class the form which the provider's info declares for its connections."""

    def get_connection_form_widgets() -> dict[str, Any]:
        from wtforms import StringField  # 3.1 replaces it where it is not installed; 3.0 then has no forms

        fields = connection.get("conn-fields", {}).items()
        return {name: StringField(field["label"], description=field["description"]) for name, field in fields}

    def get_ui_field_behaviour() -> dict[str, Any]:
        return {name.replace("-", "_"): value for name, value in connection["ui-field-behaviour"].items()}

    def add(hook: Hook) -> Hook:
        for function in (get_connection_form_widgets, get_ui_field_behaviour):
            setattr(hook, function.__name__, staticmethod(function))
        return hook

    return add

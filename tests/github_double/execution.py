"""One GraphQL document against the strict schema, answered as GitHub words it."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
    OverlappingFieldsCanBeMergedRule,
    build_schema,
    execute_sync,
    parse,
    specified_rules,
    validate,
)

from tests.github_double.cost import MOST_NODES, Cost, cost_of
from tests.github_double.rules import Refusal, find_repository, not_found
from tests.github_double.views import Asked, View, Views
from tests.github_double.writes import WRITES

SCHEMA = Path(__file__).with_name("schema.graphql")
# GitHub lets `... on Issue {state} ... on PullRequest {state}` pass although the enums differ; gh relies on it.
RULES = [rule for rule in specified_rules if rule is not OverlappingFieldsCanBeMergedRule]
UNKNOWN_FIELD = re.compile(r"Cannot query field '(\w+)' on type '(\w+)'")
Document = dict[str, object]


@functools.cache
def schema(lacking: frozenset[str] = frozenset()) -> GraphQLSchema:
    """The schema; of an older server, without the fields named."""
    lines = SCHEMA.read_text().splitlines(keepends=True)
    return build_schema("".join(line for line in lines if re.split("[(:]", line.strip())[0] not in lacking))


# Reading a document takes longer than answering it, and programs ask the same things again and again.
@functools.lru_cache(maxsize=1000)
def parsed(text: str) -> DocumentNode:
    return parse(text)


@functools.lru_cache(maxsize=1000)
def errors_in(text: str, lacking: frozenset[str]) -> list[GraphQLError]:
    return validate(schema(lacking), parsed(text), RULES)


def is_mutation(text: str) -> bool:
    try:
        operations = [each for each in parsed(text).definitions if isinstance(each, OperationDefinitionNode)]
    except GraphQLError:
        return False
    return any(operation.operation is OperationType.MUTATION for operation in operations)


@dataclass(slots=True)
class Execution:
    """One document in work. `refused` are the mutations that fail alone; `broken`, faults of the double itself."""

    views: Views
    lacking: frozenset[str] = frozenset()
    refused: Mapping[str, Refusal] = field(default_factory=dict)
    cost: Cost = field(default_factory=Cost)
    broken: list[Exception] = field(default_factory=list)

    def answer(self, body: Mapping[str, object]) -> Document:
        """The answer; errors come with status 200, with or without data beside them."""
        text = str(body.get("query", ""))
        try:
            document = parsed(text)
        except GraphQLError as error:
            return {"errors": [dict(error.formatted)]}
        if errors := errors_in(text, self.lacking):
            return {"errors": [_worded(error) for error in errors]}
        given = body.get("variables")
        variables = given if isinstance(given, dict) else {}
        self.cost = cost_of(document, variables)
        if self.cost.nodes > MOST_NODES:
            words = f"This query requests up to {self.cost.nodes:,} possible nodes, more than the limit of 500,000."
            return {"errors": [{"type": "MAX_NODE_LIMIT_EXCEEDED", "message": words}]}
        return self._execute(schema(self.lacking), document, variables)

    def _execute(self, known: GraphQLSchema, document: DocumentNode, variables: dict[str, object]) -> Document:
        root = self._reads() | {name: self._write(name) for name in WRITES}
        result = execute_sync(known, document, root, variable_values=variables)
        answer: Document = {"data": result.data}
        if result.errors:
            answer["errors"] = [self._error(error) for error in result.errors]
        return answer

    def _error(self, error: GraphQLError) -> Document:
        cause = error.original_error
        if isinstance(cause, Refusal):
            return {"type": cause.kind, **error.formatted}
        self.broken.append(cause or error)
        return dict(error.formatted)

    def _reads(self) -> View:
        return {
            "viewer": self.views.user(self.views.viewer.login),
            "user": self._user,
            "repository": self._repository,
            "node": lambda _, id: self.views.node(id),
            "rateLimit": lambda _, **__: self.views.rate_limit(self.cost.points, self.cost.nodes),
        }

    def _user(self, _: Asked, login: str) -> View | None:
        if login.lower() not in {known.lower() for known in self.views.world.users}:
            raise not_found(f"Could not resolve to a User with the login of '{login}'.")
        return self.views.user(login)

    def _repository(self, _: Asked, owner: str, name: str, **__: object) -> View:
        return self.views.repository(find_repository(self.views.world, f"{owner}/{name}"))

    def _write(self, name: str) -> Callable[..., View]:
        def resolve(_: Asked, input: Mapping[str, object]) -> View:
            if name in self.refused:
                raise self.refused[name]
            return {"clientMutationId": input.get("clientMutationId"), **WRITES[name](self.views, input)}

        return resolve


def _worded(error: GraphQLError) -> Document:
    """GitHub says of an unknown field which type lacks it, in words and in a code."""
    worded: Document = dict(error.formatted)
    if match := UNKNOWN_FIELD.match(error.message):
        field_name, type_name = match.groups()
        worded["message"] = f"Field '{field_name}' doesn't exist on type '{type_name}'"
        worded["extensions"] = {"code": "undefinedField", "typeName": type_name, "fieldName": field_name}
    return worded

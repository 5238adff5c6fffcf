"""R6: Tests how a migration is split into statements and translated for PostgreSQL."""

from __future__ import annotations

import pytest

from bough.errors import Internal
from bough.storage.migrate import statements

TRIGGER = """CREATE TRIGGER count_hits AFTER INSERT ON hits BEGIN
    UPDATE boxes SET hits = hits + 1 WHERE id = NEW.box_id; -- one; more
    UPDATE boxes SET note = 'END;' WHERE id = NEW.box_id;
END"""


def cut(script: str, dialect: str = "sqlite") -> list[str]:
    return [query.text for query in statements(script, dialect)]


def test_only_real_semicolons_end_statements() -> None:
    """R6: Semicolons in strings, comments and triggers end nothing."""
    script = f"CREATE TABLE a (x TEXT DEFAULT ';');\n/* ; */\n{TRIGGER};\nSELECT 1; -- the end;\n;\n"
    statements = cut(script)
    assert statements == ["CREATE TABLE a (x TEXT DEFAULT ';')", f"/* ; */\n{TRIGGER}", "SELECT 1"]


def test_a_script_of_comments_is_empty() -> None:
    """R6: A downgrade may have nothing to do."""
    assert cut("-- nothing; to undo\n/* at ; all */\n") == []


@pytest.mark.parametrize(
    "script", ["SELECT 1", "SELECT 1; SELECT 'a;", "CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1;"]
)
def test_an_unfinished_script_is_refused(script: str) -> None:
    """R6: Refuses half a statement."""
    with pytest.raises(Internal, match="middle of a statement"):
        cut(script)


def test_text_columns_get_an_order_on_postgres() -> None:
    """A1: Adds an order by bytes to text columns, and to nothing else."""
    script = (
        "-- TEXT\nCREATE TABLE a (\"TEXT\" TEXT NOT NULL, b text DEFAULT 'TEXT', t BIGINT,"
        " c BIGINT CHECK (CAST(c AS TEXT) <> ''));"
        "ALTER TABLE a ADD COLUMN d TEXT; UPDATE a SET b = CAST(c AS TEXT);"
    )
    assert cut(script) == [part.strip() for part in script.split(";")[:-1]]
    assert cut(script, "postgres") == [
        '-- TEXT\nCREATE TABLE a ("TEXT" TEXT COLLATE "C" NOT NULL, b text COLLATE "C" DEFAULT \'TEXT\', t BIGINT,'
        " c BIGINT CHECK (CAST(c AS TEXT) <> ''))",
        'ALTER TABLE a ADD COLUMN d TEXT COLLATE "C"',
        "UPDATE a SET b = CAST(c AS TEXT)",
    ]

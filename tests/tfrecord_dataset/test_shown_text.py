"""Display of untrusted text."""

import json

import pytest

from tfrecord_dataset.shown_text import (
    counted,
    number_text,
    one_line,
    plain_json,
    printable,
    size_text,
    without_secrets,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("Löwe 狮子 🦁", "Löwe 狮子 🦁", id="letters stay"),
        pytest.param("a\n\tb", "a\n\tb", id="layout stays"),
        pytest.param("\x1b[2Jgone", "\\u001b[2Jgone", id="escape"),
        pytest.param("\x9b31m", "\\u009b31m", id="the 8-bit form of it"),
        pytest.param("a\rb\x07", "a\\u000db\\u0007", id="carriage return, bell"),
        pytest.param("gpj.\u202eexe", "gpj.\\u202eexe", id="the other direction"),
        pytest.param("\udcff", "\\udcff", id="a byte that is not text"),
    ],
)
def test_control_characters_are_escaped(text, shown):
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("s3://bucket/key", "s3://bucket/key", id="nothing to hide"),
        pytest.param("https://me:pass@host/x", "https://***@host/x", id="password"),
        pytest.param("https://h/x?sig=abc&se=1", "https://h/x?sig=***&se=***", id="signature"),
        pytest.param(
            "open https://h/x?tok failed", "open https://h/x?tok=*** failed", id="in text"
        ),
        pytest.param("'az://c/x?sv=1'", "'az://c/x?sv=***'", id="in quotes"),
        pytest.param("abfss://c@a.net/x", "abfss://c@a.net/x", id="a container"),
        pytest.param("abfss://c:p@a.net/x", "abfss://***@a.net/x", id="no container"),
        pytest.param("s3://b/part-?.csv", "s3://b/part-?.csv", id="a pattern"),
        pytest.param("https://h/jobs?project=p&t=1", "https://h/jobs?project=p&t=***", id="a page"),
        pytest.param("AccountName=a;AccountKey=b=;x", "AccountName=a;AccountKey=***;x", id="Azure"),
        pytest.param("x-amz-security-token:abc\nhost", "x-amz-security-token:***\nhost", id="S3"),
    ],
)
def test_urls_tell_no_secrets(text, shown):
    assert without_secrets(text) == shown
    assert without_secrets(shown) == shown


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        *((name, True) for name in ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "DB_PASSWORD")),
        *((name, True) for name in ("AZURE_STORAGE_SAS_KEY", "GOOGLE_SERVICE_ACCOUNT_KEY")),
        *((name, True) for name in ("AZURE_STORAGE_CONNECTION_STRING", "my_api_key")),
        *((name, False) for name in ("AWS_ACCESS_KEY_ID", "GOOGLE_APPLICATION_CREDENTIALS")),
        *((name, False) for name in ("AWS_WEB_IDENTITY_TOKEN_FILE", "HOME", "AZURE_TOKEN_URI")),
    ],
)
def test_what_variables_for_secrets_hold_is_not_shown(monkeypatch, name, is_secret):
    monkeypatch.setenv(name, "value-of-it")
    assert without_secrets("a value-of-it b") == ("a *** b" if is_secret else "a value-of-it b")
    monkeypatch.setenv(name, "a")  # too short for a secret: it occurs in any text
    assert without_secrets("a b") == "a b"


def test_a_name_does_not_begin_another_line():
    assert one_line("class a\r\n  b\tc https://h/?x=1") == "class a b\\u0009c https://h/?x=***"


def test_json_stays_json():
    value = {"a\x7f\u202e\x9b": ["\x1b[0m", "\ud800", "\n\t"]}
    for ascii_only in (True, False):
        text = json.dumps(value, ensure_ascii=ascii_only)
        assert json.loads(printable(text)) == json.loads(one_line(text)) == value


@pytest.mark.parametrize(
    ("num_bytes", "expected"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (5 << 30, "5.0 GiB"), (3 << 40, "3.0 TiB")],
)
def test_sizes(num_bytes, expected):
    assert size_text(num_bytes) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.98941, "0.9894"),
        (9999.4, "9999"),
        (23950.4, "23,950"),
        (-1e6, "-1,000,000"),
        (2e9, "2,000,000,000"),
        (1e16, "1e+16"),
        (0.00001234567, "0.00001235"),
        (1e-15, "1e-15"),
        (float("nan"), "nan"),
    ],
)
def test_numbers(value, expected):
    assert number_text(value) == expected


def test_json_without_exponents():
    row = {'a "1e-05" of': [1e-05, -2.5e-07, 0.5, 3], "1e+16": 1e16, "text": "1e-09\\"}
    text = plain_json(json.dumps(row))
    assert json.loads(text) == row
    assert "0.00001, -0.00000025, 0.5, 3" in text
    assert ": 10000000000000000," in text


def test_numbers_of_things():
    assert [counted(n, "shard") for n in (0, 1, 1000)] == ["0 shards", "1 shard", "1,000 shards"]

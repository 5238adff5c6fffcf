"""Decides which of the server's environment variables an agent, its MCP servers and its checks inherit.

Only listed names pass: those of an ordinary shell, those that the agent's catalog file names, and those that a person
adds with the setting `agent_env`. Everything else, such as keys for clouds and registries, stays with the server.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

# Variables of the server that nothing can add: they hold paths, addresses and tokens of Bough.
HIDDEN_PREFIXES = ("BOUGH_", "AGENT_")

# Who and where the user is, language, terminal, temporary files.
_SHELL = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "HOSTNAME", "TMPDIR", "TMP", "TEMP", "XDG_*"),
    *("LANG", "LANGUAGE", "LC_*", "TZ", "TZDIR", "TERM", "TERMINFO", "TERMINFO_DIRS", "COLORTERM"),
    *("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI", "EDITOR", "VISUAL", "PAGER"),
)
# Proxies and certificates. Programs read proxies in either case.
_NETWORK = (
    *("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"),
    *("SSL_CERT_*", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NIX_SSL_CERT_FILE", "PIP_CERT"),
    *("GIT_SSL_CAINFO", "GIT_SSL_CAPATH"),
)
# Not `NODE_*` and `npm_config_*`, which may hold tokens of registries.
_NODE = (
    *("NODE_ENV", "NODE_EXTRA_CA_CERTS", "NODE_NO_WARNINGS", "NODE_OPTIONS", "NODE_PATH"),
    *("NODE_TLS_REJECT_UNAUTHORIZED", "NODE_USE_ENV_PROXY", "NODE_USE_SYSTEM_CA"),
    *("NVM_DIR", "NVM_BIN", "NVM_INC", "VOLTA_HOME", "FNM_DIR", "FNM_MULTISHELL_PATH", "N_PREFIX"),
    *("PNPM_HOME", "COREPACK_HOME", "BUN_INSTALL", "DENO_DIR", "DENO_INSTALL", "YARN_CACHE_FOLDER"),
    *(
        f"{prefix}{name.upper() if prefix.isupper() else name}"
        for prefix in ("npm_config_", "NPM_CONFIG_")
        for name in ("cache", "cafile", "globalconfig", "offline", "prefix", "registry", "strict_ssl", "userconfig")
    ),
)
# Places of compilers, interpreters and package managers.
_TOOLS = (
    *("PYTHONPATH", "PYTHONUTF8", "PYTHONIOENCODING", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONWARNINGS"),
    *("VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_ROOT", "PYENV_VERSION", "PIP_CACHE_DIR"),
    *("UV_CACHE_DIR", "UV_OFFLINE", "UV_PYTHON", "UV_PYTHON_INSTALL_DIR", "PIPX_HOME", "POETRY_HOME"),
    *("CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "GOPATH", "GOROOT", "GOBIN", "GOCACHE", "GOMODCACHE", "GOFLAGS"),
    *("JAVA_HOME", "JDK_HOME", "MAVEN_HOME", "M2_HOME", "GRADLE_HOME", "GRADLE_USER_HOME", "SDKMAN_DIR"),
    *("ANDROID_HOME", "ANDROID_SDK_ROOT", "DOTNET_ROOT", "RBENV_ROOT", "GEM_HOME", "GEM_PATH", "BUNDLE_PATH"),
    *("ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "MISE_CONFIG_DIR", "MISE_SHELL"),
    *("HOMEBREW_PREFIX", "HOMEBREW_CELLAR", "HOMEBREW_REPOSITORY", "NIX_PATH", "NIX_PROFILES"),
    *("CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS", "PKG_CONFIG_PATH", "CPATH"),
    *("LD_LIBRARY_PATH", "LIBRARY_PATH", "MANPATH", "INFOPATH"),
)
# Who commits, and where git's settings are. Not `GIT_CONFIG_VALUE_*`, which may hold a header with a token.
_GIT = (
    *("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"),
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EDITOR", "GIT_PAGER"),
)

INHERITED: tuple[str, ...] = (*_SHELL, *_NETWORK, *_NODE, *_TOOLS, *_GIT)
"""Names and patterns of the variables that every agent inherits."""

KEY_ENDINGS = ("_API_KEY", "_API_TOKEN", "_AUTH_TOKEN", "_ACCESS_TOKEN")
"""Endings of the names by which models' providers call their keys."""


def inherited_env(environ: Mapping[str, str], added: Iterable[str] = (), hidden: Iterable[str] = ()) -> dict[str, str]:
    """Returns the variables that pass: the usual ones and those that match the added names or patterns, in which `*`
    stands for any characters. Neither Bough's own nor hidden ones pass."""
    patterns = [*INHERITED, *added]
    names = {pattern for pattern in patterns if not _is_pattern(pattern)}
    wide = [pattern for pattern in patterns if _is_pattern(pattern)]
    without = set(hidden)
    return {
        name: value
        for name, value in environ.items()
        if name not in without
        and not name.startswith(HIDDEN_PREFIXES)
        and (name in names or any(fnmatchcase(name, pattern) for pattern in wide))
    }


def _is_pattern(text: str) -> bool:
    return any(mark in text for mark in "*?[")

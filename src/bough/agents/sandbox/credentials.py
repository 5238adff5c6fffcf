"""Lists the files and folders with people's credentials, which no confined agent sees."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

# Below the home folder. Keys and tokens for machines, clouds, registries and mail; browsers; password stores; wallets.
HOME_CREDENTIALS = (
    ".ssh",
    ".gnupg",
    ".pki",
    ".netrc",
    ".authinfo",
    ".authinfo.gpg",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/hub",
    ".config/glab-cli",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/doctl",
    ".config/hcloud",
    ".config/rclone",
    ".config/heroku",
    ".local/share/heroku",
    ".oci",
    ".s3cfg",
    ".boto",
    ".kube",
    ".docker",
    ".config/containers",
    ".config/helm",
    ".terraform.d",
    ".terraformrc",
    ".vault-token",
    ".ansible",
    ".databrickscfg",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".gem/credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".nuget/NuGet",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".password-store",
    ".local/share/password-store",
    ".config/op",
    ".config/Bitwarden",
    ".config/Bitwarden CLI",
    ".config/keepassxc",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".config/sops",
    ".config/age",
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/google-chrome-beta",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    ".config/Slack",
    ".config/discord",
    ".config/Signal",
    ".var/app",
    "snap/firefox",
    "snap/chromium",
    ".bitcoin",
    ".ethereum",
    ".electrum",
    ".config/solana",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    ".node_repl_history",
    ".local/share/fish/fish_history",
    ".ICEauthority",
    ".Xauthority",
)

# Variables by which people move these elsewhere, and what is hidden there: the path itself, or names inside it. Some
# list several paths.
MOVED_CREDENTIALS: dict[str, tuple[str, ...]] = {
    "AWS_CONFIG_FILE": ("",),
    "AWS_SHARED_CREDENTIALS_FILE": ("",),
    "AZURE_CONFIG_DIR": ("",),
    "BOTO_CONFIG": ("",),
    "CARGO_HOME": ("credentials", "credentials.toml"),
    "CLOUDSDK_CONFIG": ("",),
    "COMPOSER_HOME": ("auth.json",),
    "DOCKER_CONFIG": ("",),
    "GH_CONFIG_DIR": ("",),
    "GLAB_CONFIG_DIR": ("",),
    "GNUPGHOME": ("",),
    "GOOGLE_APPLICATION_CREDENTIALS": ("",),
    "KUBECONFIG": ("",),
    "NETRC": ("",),
    "NPM_CONFIG_USERCONFIG": ("",),
    "npm_config_userconfig": ("",),
    "PASSWORD_STORE_DIR": ("",),
    "PGPASSFILE": ("",),
    "RCLONE_CONFIG": ("",),
    "SOPS_AGE_KEY_FILE": ("",),
    "TF_CLI_CONFIG_FILE": ("",),
    "XDG_CONFIG_HOME": tuple(name.removeprefix(".config/") for name in HOME_CREDENTIALS if name.startswith(".config/")),
    "XDG_DATA_HOME": tuple(
        name.removeprefix(".local/share/") for name in HOME_CREDENTIALS if name.startswith(".local/share/")
    ),
}

# Variables that lead to a person's running programs: keys, desktop, containers.
HIDDEN_VARIABLES = (
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "GNOME_KEYRING_CONTROL",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "SESSION_MANAGER",
    "DOCKER_HOST",
    "CONTAINER_HOST",
    "KUBECONFIG",
    "TMUX",
    "STY",
)


def moved_credentials(environ: Mapping[str, str], needed: Iterable[str]) -> list[str]:
    """Returns the existing files and folders with credentials that variables name, with links resolved. Leaves out
    those around a needed folder, such as the session's."""
    paths = {
        os.path.realpath(os.path.join(place, name))
        for variable, names in MOVED_CREDENTIALS.items()
        for place in environ.get(variable, "").split(os.pathsep)
        if os.path.isabs(place)
        for name in names
    }
    around = {folder for path in needed for folder in (path, *(str(parent) for parent in Path(path).parents))}
    return sorted(path for path in paths - around if os.path.exists(path))


def credential_paths(home: str) -> list[str]:
    """Returns the existing files and folders with credentials, with links resolved."""
    paths = (os.path.realpath(os.path.join(home, name)) for name in HOME_CREDENTIALS)
    return sorted({path for path in paths if os.path.exists(path)})

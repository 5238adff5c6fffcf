DROP TABLE repo_config_decisions;

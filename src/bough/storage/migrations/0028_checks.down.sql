DROP TABLE check_prompts;
DROP TABLE pull_requests;

DROP TABLE saved_prompts;

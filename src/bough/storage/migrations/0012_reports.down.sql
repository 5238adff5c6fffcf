DROP TABLE agents_without_reports;

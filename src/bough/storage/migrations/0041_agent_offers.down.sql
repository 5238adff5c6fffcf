DROP TABLE agent_offers;

DROP TABLE review_viewed;
DROP TABLE review_comments;

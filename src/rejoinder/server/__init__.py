"""The web app in which raters judge and owners watch: pages made on the server, plain JavaScript, no network."""

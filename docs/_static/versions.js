// Versions of this site that lie beside it, newest first. `make site` writes the list into each of them.
const VERSIONS = [];

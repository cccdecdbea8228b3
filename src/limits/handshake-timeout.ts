/**
 * Time for the beginning of a connection, in milliseconds: until its protocol is known, until an HTTP/2 connection is
 * set up, and for the head of an HTTP request. It allows for several lost packets; slower clients occupy a connection
 * in vain.
 */
export const HANDSHAKE_TIMEOUT_MS = 20_000;

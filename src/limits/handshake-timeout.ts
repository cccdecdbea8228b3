/**
 * Time that a client has for the beginnings of a connection, in milliseconds: until it is known which protocol it speaks, until
 * an HTTP/2 connection is set up, and for the head of an HTTP request. Several lost packets fit in; who needs longer holds a
 * connection for nothing.
 */
export const HANDSHAKE_TIMEOUT_MS = 20_000;

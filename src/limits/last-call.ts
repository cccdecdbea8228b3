/**
 * Time that connections which clients opened just before the ports closed have for a first request, in milliseconds,
 * where clients were asked to leave: proxies that ask no health checks open some until then.
 */
export const LAST_CALL_MS = 500;

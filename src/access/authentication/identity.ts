/** The sender of a call, once it has shown who it is. */
export interface Identity {
  /** Names by which rules know it: `alice`, `token:ci`, `jwt:SUBJECT`, `cn:NAME`; the first one stands in logs. */
  readonly names: readonly [string, ...string[]];
}

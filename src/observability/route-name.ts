/** Protocol and method of a request in metrics: one object for each route of a server. */
export interface RouteName {
  /** Name of the protocol. */
  readonly protocol: string;
  /** gRPC's `/package.Service/Method`, or HTTP's method and path with names for its parameters. */
  readonly method: string;
}

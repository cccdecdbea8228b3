/** Body of a request of SageMaker, as `handler` and `input_handler` get it. */
export interface InferenceData {
  /** The next bytes of the body, by default all that are left. */
  read(size?: number): Buffer;
}

/** The second argument of SageMaker's handlers; null = the request does not say. */
export interface InferenceContext {
  readonly model_name: string | null;
  readonly model_version: string | null;
  /** `predict`, `classify` or `regress`. */
  readonly method: string | null;
  /** URL of the model's REST API in this server. */
  readonly rest_uri: string;
  /** gRPC port of this server. */
  readonly grpc_port: string;
  /** Always null: open one to {@link grpc_port}. */
  readonly channel: null;
  /** The header `X-Amzn-SageMaker-Custom-Attributes`. */
  readonly custom_attributes: string | null;
  /** Default `application/json`. */
  readonly request_content_type: string;
  /** Default `application/json`. */
  readonly accept_header: string;
  readonly content_length: number | null;
}

/** Answer of the model, as `output_handler` gets it. */
export interface InferenceResponse {
  readonly status_code: number;
  readonly content: Buffer;
  readonly text: string;
  json(): unknown;
}

import type { ForeignFlags } from "./foreign-flag.ts";

const LOG_LEVELS: Readonly<Record<string, string>> = { warning: "warn", critical: "fatal" };

/**
 * The flags of Simple TensorFlow Serving (simple_tensorflow_serving/server.py). Its booleans take a word: any but an
 * empty one is true there, and a false one is false here.
 */
export const SIMPLE_TENSORFLOW_FLAGS = {
  host: { type: "text", env: "STFS_HOST", default: "0.0.0.0", help: "address to listen on", setting: "host" },
  port: {
    type: "integer",
    env: "STFS_PORT",
    default: "8500",
    help: "HTTP port; here for gRPC too",
    setting: "httpPort",
  },
  enable_ssl: {
    type: "text",
    env: "STFS_ENABLE_SSL",
    help: "encrypt connections",
    own: "`--tls-cert` and `--tls-key`, from the next two",
  },
  secret_pem: { type: "text", env: "STFS_SECRET_PEM", default: "secret.pem", help: "certificate", own: "`--tls-cert`" },
  secret_key: { type: "text", env: "STFS_SECRET_KEY", default: "secret.key", help: "private key", own: "`--tls-key`" },
  model_name: { type: "text", env: "STFS_MODEL_NAME", default: "default", help: "name of the model", field: "name" },
  model_base_path: {
    type: "text",
    env: "STFS_MODEL_BASE_PATH",
    default: "./model",
    help: "folder of its versions, or its file",
    field: "base_path",
  },
  model_platform: {
    type: "text",
    env: "STFS_MODEL_PLATFORM",
    default: "tensorflow",
    help: "framework of the model",
    field: "platform",
  },
  model_config_file: {
    type: "text",
    env: "STFS_MODEL_CONFIG_FILE",
    help: "file that describes several models, in place of one",
    setting: "config",
    toText: (text) => (text === "" ? undefined : text),
  },
  reload_models: {
    type: "text",
    env: "STFS_RELOAD_MODELS",
    help: "look for new versions every 10 seconds",
    setting: "pollIntervalMs",
    toText: (text) => (isTrue(text) ? "10" : undefined),
  },
  custom_op_paths: {
    type: "text",
    env: "STFS_CUSTOM_OP_PATHS",
    help: "folders with libraries of TensorFlow operations",
    field: "custom_op_paths",
  },
  session_config: {
    type: "text",
    env: "STFS_SESSION_CONFIG",
    default: "{}",
    help: "JSON with options of TensorFlow's session",
    field: "session_config",
  },
  debug: { type: "text", env: "STFS_DEBUG", help: "log at the level debug", own: "`--log-level debug`" },
  log_level: {
    type: "text",
    env: "STFS_LOG_LEVEL",
    default: "info",
    help: "lowest level to log: debug, info, warning, error, critical",
    setting: "logLevel",
    toText: (text) => toLogLevel(text.toLowerCase()),
  },
  enable_auth: {
    type: "text",
    env: "STFS_ENABLE_AUTH",
    help: "let in one user alone, who has to have a password",
    own: "`--auth-username`, from the next one",
  },
  auth_username: {
    type: "text",
    env: "STFS_AUTH_USERNAME",
    default: "admin",
    help: "the user's name",
    own: "`--auth-username`",
  },
  auth_password: {
    type: "text",
    env: "STFS_AUTH_PASSWORD",
    help: "the user's password; the original's default is not taken over",
    own: "the content of `--auth-password-file`",
  },
  enable_cors: {
    type: "text",
    env: "STFS_ENABLE_CORS",
    default: "True",
    help: "let web pages of all origins run models",
    setting: "corsOrigins",
    toText: (text) => (isTrue(text) ? "*" : ""),
  },
  enable_b64_autoconvert: {
    type: "text",
    env: "STFS_B64_AUTOCONVERT",
    help: 'take {"b64": "…"} for the bytes that it encodes',
    unused: "such objects are always decoded",
  },
  download_inference_images: {
    type: "text",
    env: "STFS_DOWNLOAD_INFERENCE_IMAGES",
    default: "False",
    help: "write the files of forms into a folder; by default the original does",
    refused: "files of clients are not written to disk",
  },
} as const satisfies ForeignFlags;

/** Checks a word of a flag that switches something. */
export function isTrue(text = ""): boolean {
  return !/^(?:|false|no|off|0|none)$/i.test(text.trim());
}

/** The original passes over words that it does not know. */
function toLogLevel(text: string): string | undefined {
  const known = ["debug", "info", "warning", "error", "critical"];
  return known.includes(text) ? (LOG_LEVELS[text] ?? text) : undefined;
}

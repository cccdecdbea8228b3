import { ADDRESS_ROWS } from "./address-rows.ts";
import type { AttackRow } from "./attack-row.ts";
import { BACKEND_ROWS } from "./backend-rows.ts";
import { CONNECTION_ROWS } from "./connection-rows.ts";
import { CVE_ROWS } from "./cve-rows.ts";
import { FIRST_BYTES_ROWS } from "./first-bytes-rows.ts";
import { FORM_ROWS } from "./form-rows.ts";
import { HEAD_ROWS } from "./head-rows.ts";
import { IDLE_ROWS } from "./idle-rows.ts";
import { IMAGE_ROWS } from "./image-rows.ts";
import { JSON_ROWS } from "./json-rows.ts";
import { KSERVE_ROWS } from "./kserve-rows.ts";
import { LANE_ROWS } from "./lane-rows.ts";
import { MCP_ROWS } from "./mcp-rows.ts";
import { MEMORY_ROWS } from "./memory-rows.ts";
import { NAME_ROWS } from "./name-rows.ts";
import { PASSWORD_ROWS } from "./password-rows.ts";
import { READING_ROWS } from "./reading-rows.ts";
import { SECRET_ROWS } from "./secret-rows.ts";
import { SHARE_ROWS } from "./share-rows.ts";
import { SLOW_ROWS } from "./slow-rows.ts";
import { STORE_ROWS } from "./store-rows.ts";
import { STREAM_ROWS } from "./stream-rows.ts";
import { TABLE_ROWS } from "./table-rows.ts";
import { TENSORFLOW_ROWS } from "./tensorflow-rows.ts";
import { TEXT_ROWS } from "./text-rows.ts";
import { TLS_ROWS } from "./tls-rows.ts";
import { CONFIG_ROWS, CONTROL_ROWS, CRASH_ROWS, HOOK_ROWS, POISON_ROWS } from "./trust-rows.ts";

/** Every hostile request, in the order of the table. */
export const ATTACK_ROWS: readonly AttackRow[] = [
  ...JSON_ROWS,
  ...FORM_ROWS,
  ...KSERVE_ROWS,
  ...TENSORFLOW_ROWS,
  ...IMAGE_ROWS,
  ...MEMORY_ROWS,
  ...SHARE_ROWS,
  ...CONNECTION_ROWS,
  ...FIRST_BYTES_ROWS,
  ...CVE_ROWS,
  ...HEAD_ROWS,
  ...READING_ROWS,
  ...IDLE_ROWS,
  ...SLOW_ROWS,
  ...NAME_ROWS,
  ...ADDRESS_ROWS,
  ...PASSWORD_ROWS,
  ...TLS_ROWS,
  ...CONTROL_ROWS,
  ...CONFIG_ROWS,
  ...HOOK_ROWS,
  ...CRASH_ROWS,
  ...LANE_ROWS,
  ...POISON_ROWS,
  ...STREAM_ROWS,
  ...TEXT_ROWS,
  ...MCP_ROWS,
  ...TABLE_ROWS,
  ...SECRET_ROWS,
  ...STORE_ROWS,
  ...BACKEND_ROWS,
];

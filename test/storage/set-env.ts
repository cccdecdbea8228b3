import { onTestFinished, vi } from "vitest";
import { TOY_KEY } from "./start-s3.ts";

/** Variables of the environment until the test ends. */
export function setEnv(variables: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
}

/** The environment of a program that is to read a toy bucket. */
export function useS3(endpoint: string): void {
  setEnv({
    AWS_ENDPOINT_URL_S3: endpoint,
    AWS_ACCESS_KEY_ID: TOY_KEY.id,
    AWS_SECRET_ACCESS_KEY: TOY_KEY.secret,
    AWS_EC2_METADATA_DISABLED: "true",
    AWS_CONFIG_FILE: "none",
    AWS_SHARED_CREDENTIALS_FILE: "none",
  });
}

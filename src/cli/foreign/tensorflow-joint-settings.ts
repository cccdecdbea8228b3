import { settingOf, type Translation } from "./translate-flags.ts";

/** The settings that two flags of `tensorflow_model_server` say together. */
export function jointSettings(values: ReadonlyMap<string, string>): Translation["settings"] {
  const settings: Translation["settings"] = new Map();
  const runs = Number(values.get("num_request_iterations_for_warmup") ?? 0);
  if (values.get("enable_model_warmup") === "false")
    settings.set("savedModelWarmup", settingOf("savedModelWarmup", "0", "--enable_model_warmup"));
  else if (runs > 0)
    settings.set(
      "savedModelWarmup",
      settingOf("savedModelWarmup", String(runs), "--num_request_iterations_for_warmup"),
    );
  const perVersion = "enable_per_model_batching_parameters";
  if (values.get("enable_batching") === "true" && values.get(perVersion) === "true")
    settings.set("versionBatching", settingOf("versionBatching", "true", `--${perVersion}`));
  return settings;
}

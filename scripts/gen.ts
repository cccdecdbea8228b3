/** Writes what is made of other files of the repository; `--check` only says whether it is current. */
await import("./generate-descriptors.ts");
await import("./write-schema.ts");
await import("./write-configuration.ts");
await import("./write-licences.ts");

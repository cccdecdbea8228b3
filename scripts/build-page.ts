import { bundlePage } from "./bundle-page.ts";

await bundlePage();

// Checks that dist/ is up to date: the script embedded in the program must be built from these sources.

import { buildReport } from "./build.mjs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const dist = join(dirname(fileURLToPath(import.meta.url)), "dist");
const built = await mkdtemp(join(tmpdir(), "plimsoll-ui-"));
try {
  await buildReport(built);
  const names = [...new Set([...(await readdir(built)), ...(await readdir(dist))])].sort();
  const read = (directory, name) => readFile(join(directory, name), "utf8").catch(() => null);
  const stale = [];
  for (const name of names) {
    if ((await read(built, name)) !== (await read(dist, name))) stale.push(name);
  }
  if (stale.length > 0) {
    console.error(`out of date: ${stale.map((name) => `ui/dist/${name}`).join(", ")}; run \`npm run build\` in ui/`);
    process.exitCode = 1;
  } else {
    console.log(`up to date: ${names.join(", ")}`);
  }
} finally {
  await rm(built, { recursive: true, force: true });
}

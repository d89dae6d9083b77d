// Builds the script and style of HTML reports into a directory: `node build.mjs dist`. With `--tests`, builds the unit tests instead.
//
// The result depends only on the sources and on the versions in package-lock.json, so that fresh.mjs can build it again and compare.

import { build } from "esbuild";
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const home = dirname(fileURLToPath(import.meta.url));

/** Builds script and style into a directory. */
export async function buildReport(directory) {
  await mkdir(directory, { recursive: true });
  const common = { absWorkingDir: home, bundle: true, minify: true, charset: "utf8", target: "es2020", logLevel: "warning" };
  const uplot = JSON.parse(await readFile(join(home, "node_modules/uplot/package.json"), "utf8"));
  const notice = `/*! uPlot ${uplot.version}, (c) Leon Sorokin, MIT licence */`;
  await build({
    ...common,
    entryPoints: ["src/main.ts"],
    outfile: join(directory, "report.js"),
    format: "iife",
    banner: { js: notice },
    legalComments: "none",
  });
  await build({ ...common, entryPoints: ["src/style.css"], outfile: join(directory, "report.css") });
  await copyFile(join(home, "node_modules/uplot/LICENSE"), join(directory, "LICENSE.uPlot"));
}

/** Builds the tests for `node --test`. */
async function buildTests(directory) {
  await rm(directory, { recursive: true, force: true });
  const tests = (await readdir(join(home, "tests"))).filter((name) => name.endsWith(".test.ts"));
  await build({
    absWorkingDir: home,
    entryPoints: tests.map((name) => join("tests", name)),
    outdir: directory,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node18",
    logLevel: "warning",
  });
  await writeFile(join(directory, ".gitignore"), "*\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [first, second] = process.argv.slice(2);
  await (first === "--tests" ? buildTests(join(home, second ?? "build")) : buildReport(join(home, first ?? "dist")));
}

// Bundles the service: the command line with everything it loads, including migrations, dashboard and texts. The bundle
// becomes an executable, or a folder of modules for the npm package (npm.ts).

import { join } from 'node:path';
import type { BunPlugin } from 'bun';
import { carried, dashboardInputs } from './carried.ts';

export const ROOT = join(import.meta.dir, '../..');

const SHARED: Bun.BuildConfig = {
  entrypoints: [join(ROOT, 'src/cli/main.ts')],
  root: ROOT,
  target: 'bun',
  format: 'esm',
  // Identifiers are kept, so that logged errors can be read.
  minify: { whitespace: true, syntax: true },
  // Each command loads only its own part: `lint` starts in 0.02 s instead of 0.05.
  splitting: true,
  metafile: true,
};

/** Bytecode saves parsing at each start. The executable reads no bunfig.toml and no .env of the folder it runs in. */
export async function compile(outfile: string, more: BunPlugin[] = []): Promise<string[]> {
  const plugins = [await carried(), ...more];
  const compiled = { outfile, autoloadDotenv: false, autoloadBunfig: false };
  return inputsOf(await Bun.build({ ...SHARED, plugins, bytecode: true, compile: compiled }));
}

export async function bundle(outdir: string): Promise<string[]> {
  const plugins = [await carried()];
  const naming = { entry: '[name].js', chunk: '[name]-[hash].js' };
  return inputsOf(await Bun.build({ ...SHARED, plugins, outdir, naming }));
}

/** The source files of the bundle. */
async function inputsOf(output: Bun.BuildOutput): Promise<string[]> {
  for (const message of output.logs) console.error(message);
  if (!output.success) throw new Error('the bundle could not be made');
  return [...Object.keys(output.metafile?.inputs ?? {}), ...(await dashboardInputs())];
}

// Measures how soon the service is ready on an existing store, in the forms in which people run it: from the sources,
// from the bundle of the npm package, and as the single executable; and its memory at rest.

import * as path from 'node:path';
import { bundle, compile, ROOT } from '../scripts/build/bundle.ts';
import { OUTBOUND } from '../src/cli/outbound.ts';
import { summarise } from './figure.ts';
import { startServer } from './process.ts';
import { createKey, type Place, settings } from './service.ts';
import type { Finding, Study } from './study.ts';

const STARTS = 5;
/** By then the garbage of the start has been collected. */
const REST_MS = 1000;

export const START: Study = {
  name: 'start',
  title: 'Start, and memory at rest',
  how: `From the start of the process to the first answer of /readyz, on an existing SQLite store: ${STARTS} starts of each form, taken in turn. Memory is resident, ${REST_MS / 1000} s later.`,
  run,
};

interface Form {
  name: string;
  label: string;
  command: string[];
  /** What its launcher sets. */
  env: Record<string, string>;
  readyMs: number[];
  restMb: number[];
}

async function run(place: Place): Promise<Finding[]> {
  const env = await settings('start', 'sqlite', place);
  const forms = await build(place);
  const log = path.join(place.folder, 'start.log');
  const first = await startServer(forms[0]!.command, env, log);
  await createKey(first.url);
  await first.stop();
  for (let round = 1; round <= STARTS; round++) {
    for (const form of forms) {
      place.tell(`start ${round} of ${STARTS}: ${form.label}`);
      const server = await startServer(form.command, { ...env, ...form.env }, log);
      form.readyMs.push(server.readyMs);
      await Bun.sleep(REST_MS);
      form.restMb.push(server.memoryMegabytes());
      await server.stop();
    }
  }
  return forms.flatMap(findings);
}

async function build({ folder }: Place): Promise<Form[]> {
  const executable = path.join(folder, 'toolgate');
  const packed = path.join(folder, 'package');
  await compile(executable);
  await bundle(packed);
  const form = (name: string, label: string, command: string[], launched = {}): Form => ({
    name,
    label,
    command,
    env: launched,
    readyMs: [],
    restMb: [],
  });
  return [
    form('', 'from the sources', [path.join(ROOT, 'bin/toolgate'), 'serve']),
    form(
      '-package',
      'from the npm package',
      [process.execPath, path.join(packed, 'main.js'), 'serve'],
      OUTBOUND,
    ),
    form('-executable', 'the executable', [executable, 'serve']),
  ];
}

function findings({ name, label, readyMs, restMb }: Form): Finding[] {
  return [
    { name: `start${name}`, label: `ready, ${label}`, unit: 'ms', figure: summarise(readyMs) },
    { name: `rest${name}`, label: `memory at rest, ${label}`, unit: 'MB', figure: summarise(restMb) },
  ];
}

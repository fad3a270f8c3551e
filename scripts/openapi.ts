// Writes openapi.json from the routes; with --check, only says whether it is fresh.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pkg from '../package.json' with { type: 'json' };
import { openapi } from '../src/http/openapi.ts';
import { routes } from '../src/http/server.ts';

const path = join(import.meta.dir, '..', 'openapi.json');
const fresh = `${JSON.stringify(openapi(routes, pkg.version), null, 2)}\n`;

if (process.argv.includes('--check')) {
  let written = '';
  try {
    written = readFileSync(path, 'utf8');
  } catch {}
  if (written !== fresh) {
    console.error('openapi.json is not what the routes say; run: npm run openapi');
    process.exit(1);
  }
} else {
  writeFileSync(path, fresh);
}

// Writes from the routes: openapi.json, the types of the answers in src/core/api/answers.ts, and the paths of routes that are
// loaded later in src/http/later-paths.ts; from the descriptions of rules, of results and of secrets the tables in docs/policies.md and docs/results.md; and
// from the catalogue the table of presets in docs/tool-servers.md. With --check, it only says whether they are up to date.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pkg from '../package.json' with { type: 'json' };
import { openapi } from '../src/http/docs/openapi.ts';
import { firstRoutes } from '../src/http/first-routes.ts';
import { routes } from '../src/http/routes.ts';
import { answers } from './answers.ts';
import { withPresetTable } from './preset-table.ts';
import { withResultTables } from './result-tables.ts';
import { withRuleTable } from './rule-table.ts';

function otherPaths(): string {
  const first = new Set(firstRoutes.map(({ path }) => path));
  const others = new Set(routes.map(({ path }) => path).filter(path => !first.has(path)));
  return `// The paths of the routes that are not in first-routes.ts, so that the server knows them before it loads their routes.
// Made by \`npm run openapi\`; do not edit.

export const OTHER_PATHS: readonly string[] = [
${[...others].map(path => `  '${path}',\n`).join('')}];
`;
}

const document = openapi(routes, pkg.version);

const FILES: [path: string, fresh: (written: string) => string][] = [
  ['openapi.json', () => `${JSON.stringify(document, null, 2)}\n`],
  ['src/core/api/answers.ts', () => answers(document)],
  ['src/http/later-paths.ts', otherPaths],
  ['docs/policies.md', withRuleTable],
  ['docs/results.md', withResultTables],
  ['docs/tool-servers.md', withPresetTable],
];

let stale = 0;
for (const [name, fresh] of FILES) {
  const path = join(import.meta.dir, '..', name);
  const written = readFileSync(path, 'utf8');
  const wanted = fresh(written);
  if (written === wanted) continue;
  if (process.argv.includes('--check')) {
    console.error(`${name} is not up to date with the routes; run: npm run openapi`);
    stale++;
  } else writeFileSync(path, wanted);
}
process.exit(stale === 0 ? 0 : 1);

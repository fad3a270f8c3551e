// Makes TypeScript types of the routes' answers from the OpenAPI document, so that the schemas of the service also type
// what the dashboard and the command line read. scripts/openapi.ts writes them to src/core/api/answers.ts.

import type { Schema } from '../src/http/docs/docs-schema.ts';
import type { OpenApi } from '../src/http/docs/openapi.ts';
import { packagesOf, requireExtra } from './extras.ts';

const HEAD = `// The routes' successful answers in JSON. \`npm run openapi\` writes this file from the routes' schemas: change those.

export interface Answers {`;

export function answers(document: OpenApi): string {
  const lines: string[] = [];
  /** The first route with each type of answer. */
  const known = new Map<string, string>();
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, { responses }] of Object.entries(methods)) {
      const schemas = Object.entries(responses).flatMap(([status, answer]) => jsonOf(status, answer));
      if (schemas.length === 0) continue;
      const route = `'${method.toUpperCase()} ${path}'`;
      const type = schemas.map(typeOf).join(' | ');
      const first = known.get(type);
      lines.push(`${route}: ${first === undefined ? type : `Answers[${first}]`};`);
      if (first === undefined) known.set(type, route);
    }
  return formatted(`${HEAD}\n${lines.join('\n')}\n}\n`);
}

function jsonOf(status: string, answer: object): Schema[] {
  const { content } = answer as { content?: Record<string, { schema?: Schema }> };
  const schema = content?.['application/json']?.schema;
  // In the document, an answer without a schema counts as text.
  return status.startsWith('2') && schema !== undefined && schema.type !== 'string' ? [schema] : [];
}

function typeOf(schema: Schema): string {
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' | ');
  if (schema.enum !== undefined) return schema.enum.map(each => JSON.stringify(each)).join(' | ');
  const types = [schema.type ?? 'unknown'].flat();
  return types.map(type => plainType(type, schema)).join(' | ');
}

function plainType(type: string, schema: Schema): string {
  switch (type) {
    case 'integer':
      return 'number';
    case 'string':
    case 'number':
    case 'boolean':
    case 'null':
    case 'unknown':
      return type;
    case 'array':
      return `(${typeOf(schema.items ?? {})})[]`;
    case 'object':
      return objectType(schema);
    default:
      throw new Error(`There is no type for this schema: ${JSON.stringify(schema)}`);
  }
}

function objectType({ properties, required = [], additionalProperties }: Schema): string {
  if (properties === undefined)
    return `Record<string, ${typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown'}>`;
  const fields = Object.entries(properties).map(
    ([name, schema]) => `\n${name}${required.includes(name) ? '' : '?'}: ${typeOf(schema)};`,
  );
  return `{${fields.join('')}\n}`;
}

function formatted(text: string): string {
  requireExtra('scripts');
  const biome = packagesOf('scripts', '.bin/biome');
  const { stdout, stderr, exitCode } = Bun.spawnSync([biome, 'format', '--stdin-file-path=answers.ts'], {
    stdin: Buffer.from(text),
  });
  if (exitCode !== 0) throw new Error(stderr.toString());
  return stdout.toString();
}

// The page at /docs: where the documentation begins, and the API reference, made from the OpenAPI document. The routes
// provide all contents of the reference; this file only says how they are shown.

import { type Html, html, trusted } from '../serving/page.ts';
import type { Access } from '../serving/route.ts';
import { docsFrame } from './docs-frame.ts';
import { choices, type Field, fieldsOf, type Schema, sample, typeOf } from './docs-schema.ts';
import { listOfPages, pathThrough } from './guide-pages.ts';
import type { OpenApi } from './openapi.ts';

/** The parts of a response in the OpenAPI document that the page shows. */
interface ShownResponse {
  description: string;
  content?: Record<string, { schema?: Schema }>;
}

type Operation = OpenApi['paths'][string][string];
type Call = Operation & { method: string; path: string };

/** The page at /docs: the path through the documentation, and the whole reference below it. */
export function docsPage(document: OpenApi): Response {
  const groups = byTag(document);
  return docsFrame({
    title: 'Documentation and API reference',
    version: document.info.version,
    style: STYLE,
    contents: html`${listOfPages()}${contents(groups)}`,
    main: html`${pathThrough()}
${introduction(document)}
${[...groups].map(([tag, calls]) => group(document, tag, calls))}`,
  });
}

function byTag(document: OpenApi): Map<string, Call[]> {
  const groups = new Map<string, Call[]>();
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(methods)) {
      const tag = operation.tags[0] ?? 'other';
      groups.set(tag, [...(groups.get(tag) ?? []), { ...operation, method: method.toUpperCase(), path }]);
    }
  return groups;
}

const slug = (tag: string) => `about-${tag.replace(/[^a-z0-9]+/gi, '-').replace(/-$/, '')}`;
const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

function contents(groups: Map<string, Call[]>): Html {
  const links = [...groups].map(
    ([tag, calls]) => html`<li><a class="tag" href="#${slug(tag)}">${capital(tag)}</a>
<ul>${calls.map(call => html`<li><a href="#${call.operationId}">${call.summary}</a></li>`)}</ul></li>`,
  );
  return html`<nav aria-label="API reference"><ul><li><a class="tag" href="#start">Getting started</a></li>
<li><a class="tag" href="#problem">Problems</a></li>${links}</ul></nav>`;
}

function introduction(document: OpenApi): Html {
  const schemes = Object.values(document.components.securitySchemes);
  return html`<section id="start" class="group">
<h2>${document.info.title} API reference</h2>
<p class="lead">${prose(document.info.description)}</p>
<p>Credentials go into the header <code>Authorization: Bearer …</code>, that of a sign-in into its cookie. There are these:</p>
<ul class="list">${schemes.map(scheme => html`<li>${prose(scheme.description)}</li>`)}</ul>
<p>The examples read the environment: <code>TOOLGATE_BASE_URL</code> (such as <code>http://127.0.0.1:8787</code>),
<code>TOOLGATE_API_KEY</code> and <code>TOOLGATE_ADMIN_TOKEN</code>. For programs, the same reference is at
<a href="/openapi.json">/openapi.json</a>.</p>
</section>
<section id="problem" class="group">
<h2>Problems</h2>
<p>What is refused is answered by a problem body (RFC 9457), <code>application/problem+json</code>.</p>
${fieldTable('Fields of a problem', fieldsOf(document, document.components.schemas.Problem), 'optional')}
</section>`;
}

function group(document: OpenApi, tag: string, calls: Call[]): Html {
  return html`<section id="${slug(tag)}" class="group"><h2>${capital(tag)}</h2>
${calls.map(call => operation(document, call))}</section>`;
}

function operation(document: OpenApi, call: Call): Html {
  const { description, summary, operationId } = call;
  return html`<article id="${operationId}" aria-labelledby="${operationId}-name">
<div class="explained">
<h3 id="${operationId}-name">${summary}</h3>
<p class="route"><span class="method">${call.method}</span> <code>${breakable(call.path)}</code></p>
<p class="small"><span class="soft">Who may call it:</span> ${callers(document, call)}</p>
${description === undefined ? null : html`<p>${prose(description)}</p>`}
${parameters(call)}
${requestBody(document, call)}
<h4>Responses</h4>
${Object.entries(call.responses).map(([status, answer]) => response(document, call, status, answer as ShownResponse))}
</div>
<div class="shown"><h4>Example</h4><pre><code>${curl(document, call)}</code></pre></div>
</article>`;
}

const SIGNED_IN: Partial<Record<Access, string>> = {
  view: 'any operator who signed in',
  resolve: 'an approver or admin who signed in',
  admin: 'an admin who signed in',
};

function callers(document: OpenApi, call: Call): Html {
  const { security } = call;
  if (security.length === 0) return html`anybody, without a credential.`;
  const schemes: Record<string, { description: string } | undefined> = document.components.securitySchemes;
  const named = (name: string) => schemes[name]?.description.replace(/\.$/, '') ?? name;
  const each = security.flatMap(Object.keys).map(name => {
    const words = name === 'signIn' ? (SIGNED_IN[call['x-access']] ?? '') : named(name);
    return words.charAt(0).toLowerCase() + words.slice(1);
  });
  return html`${prose(each.join(', or '))}.`;
}

function parameters(call: Call): Html | null {
  if (call.parameters.length === 0) return null;
  const fields = call.parameters.map(({ name, required, schema }) => ({ path: name, required, schema }));
  return html`<h4>Parameters</h4>${fieldTable(`Parameters of: ${call.summary}`, fields, 'required')}`;
}

function requestBody(document: OpenApi, call: Call): Html | null {
  const schema: Schema | undefined = call.requestBody?.content['application/json']?.schema;
  if (schema === undefined) return null;
  const fields = fieldsOf(document, schema);
  const optional = call.requestBody?.required === true ? null : html` <span class="soft">(optional)</span>`;
  return html`<h4>Request body${optional}</h4>${fieldTable(`Request body of: ${call.summary}`, fields, 'required')}`;
}

function response(document: OpenApi, call: Call, status: string, answer: ShownResponse): Html {
  const [type, content] = Object.entries(answer.content ?? {})[0] ?? [];
  const shown = status === 'default' ? 'Otherwise' : status;
  const line = html`<b class="status">${shown}</b> ${prose(answer.description)}`;
  if (type === 'application/problem+json')
    return html`<p class="answer">${line} <a href="#problem">Problem</a></p>`;
  const fields = content?.schema === undefined ? [] : fieldsOf(document, content.schema);
  const kind = type === undefined || type === 'application/json' ? null : html` <code>${type}</code>`;
  if (fields.length === 0) return html`<p class="answer">${line}${kind}</p>`;
  const table = fieldTable(`Response ${status} of: ${call.summary}`, fields, 'optional');
  return html`<details class="answer"><summary>${line}${kind}</summary>${table}</details>`;
}

/** What is marked in a table of fields: those that are `required` in a request, or `optional` in an answer. */
type Mark = 'required' | 'optional';

function fieldTable(caption: string, fields: Field[], mark: Mark): Html {
  return html`<table><caption>${caption}</caption><col class="names"><col>
<thead><tr><th scope="col">Field</th><th scope="col">Meaning</th></tr></thead>
<tbody>${fields.map(field => fieldRow(field, mark))}</tbody></table>`;
}

function fieldRow({ path, required, schema }: Field, mark: Mark): Html {
  const marked = required === (mark === 'required') ? html` <span class="mark-word">${mark}</span>` : null;
  const description = schema.description ?? null;
  return html`<tr><th scope="row"><code>${breakable(path)}</code>${marked}</th>
<td><span class="type">${typeOf(schema)}</span>${bounds(schema)}${description === null ? null : html`<br>${prose(description)}`}</td></tr>`;
}

function bounds(schema: Schema): Html {
  const facts = [...limits(schema), ...choices(schema).flatMap(limits), ...limits(schema.items ?? {})];
  const initial = schema.default === undefined ? [] : [html`default ${value(schema.default)}`];
  const example = schema.example ?? schema.items?.example;
  const such = example === undefined ? [] : [html`such as ${value(example)}`];
  return html`${[...facts, ...initial, ...such].map(fact => html`<span class="soft">, ${fact}</span>`)}`;
}

const value = (given: unknown) => html`<code>${JSON.stringify(given)}</code>`;

function limits(schema: Schema): Html[] {
  const oneOf = schema.enum === undefined ? [] : [html`one of ${list(schema.enum)}`];
  const ranges = [
    range(schema.minimum, schema.maximum, ''),
    range(schema.minLength, schema.maxLength, ' characters'),
    range(schema.minItems, schema.maxItems, ' items'),
  ];
  return [...oneOf, ...ranges.filter(text => text !== null).map(text => html`${text}`)];
}

const list = (values: unknown[]) =>
  values.map((each, index) => html`${index === 0 ? '' : ', '}${value(each)}`);

/** Every integer is limited to the safe integers, so those limits are not shown. */
function range(given: number | undefined, most: number | undefined, unit: string): string | null {
  const min = given === undefined || given === Number.MIN_SAFE_INTEGER ? null : given;
  const max = most === undefined || most === Number.MAX_SAFE_INTEGER ? null : most;
  if (min === null) return max === null ? null : `at most ${max}${unit}`;
  return max === null ? `at least ${min}${unit}` : `${min} to ${max}${unit}`;
}

function curl(document: OpenApi, call: Call): string {
  const path = call.path.replace(/\{(\w+)\}/g, (_, name: string) => `$${shellName(name)}`);
  const query = call.parameters
    .filter(each => each.in === 'query' && each.required)
    .map(each => `${each.name}=${encodeURIComponent(String(sample(document, each.schema, each.name)))}`);
  const url = `"$TOOLGATE_BASE_URL${path}${query.length === 0 ? '' : `?${query.join('&')}`}"`;
  const scheme = Object.keys(call.security[0] ?? {})[0];
  const variable = scheme === 'adminToken' ? 'TOOLGATE_ADMIN_TOKEN' : 'TOOLGATE_API_KEY';
  const body: Schema | undefined = call.requestBody?.content['application/json']?.schema;
  const lines = [call.method === 'GET' ? `curl ${url}` : `curl -X ${call.method} ${url}`];
  if (scheme !== undefined) lines.push(`-H "Authorization: Bearer $${variable}"`);
  if (body !== undefined) {
    const json = JSON.stringify(sample(document, body, 'body'), null, 2)
      .replaceAll("'", "'\\''")
      .replaceAll('\n', '\n  ');
    lines.push("-H 'Content-Type: application/json'", `-d '${json}'`);
  }
  return lines.join(' \\\n  ');
}

const shellName = (name: string) => name.replace(/[A-Z]/g, found => `_${found}`).toUpperCase();

/** Shows text in backticks as code. */
function prose(text: string): Html {
  return html`${text.split('`').map((part, index) => (index % 2 === 0 ? part : html`<code>${part}</code>`))}`;
}

/** Lets long paths break after punctuation and not within a word. */
function breakable(path: string): Html {
  return html`${path.split(/(?<=[/.\]_])|(?=[A-Z])/).map(part => html`${part}${trusted('<wbr>')}`)}`;
}

const STYLE = `
#start { margin-top: 3rem; padding-top: 2rem; border-top: 1px solid var(--line); }
.group { display: grid; gap: 1rem; padding-bottom: 2rem; }
.group > * { min-width: 0; }
.group > p, .group > table, .list { max-width: 42rem; }
.list { padding-left: 1.2rem; }
.lead { font-size: 1.15rem; color: var(--soft); }
article { display: grid; gap: 1rem 2.5rem; padding: 1.25rem; background: var(--sheet); border: 1px solid var(--line); border-radius: 12px; }
.explained, .shown { display: grid; gap: 0.6rem; min-width: 0; align-content: start; }
.route { display: flex; gap: 0.6rem; align-items: baseline; }
.route code { background: none; padding: 0; font-size: 0.95rem; }
.method {
  flex: none; padding: 0.1rem 0.5rem; border-radius: 6px; background: var(--accent); color: var(--on-accent);
  font: 650 0.78rem/1.5 var(--mono); letter-spacing: 0.03em;
}
.group table { width: 100%; border-collapse: collapse; table-layout: fixed; font-size: 0.9rem; }
.group caption, .group thead th { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.group tbody tr { border-top: 1px solid var(--line); }
col.names { width: 42%; }
.group tbody th { padding: 0.5rem 0.75rem 0.5rem 0; text-align: left; vertical-align: top; font-weight: 400; }
.group td { padding: 0.5rem 0; vertical-align: top; overflow-wrap: anywhere; }
.mark-word { display: block; font-size: 0.8rem; color: var(--accent); }
.type { font-weight: 500; }
.answer { font-size: 0.95rem; }
.answer summary { padding: 0.2rem 0; }
.answer table { margin: 0.4rem 0 0.6rem; }
.status { font-variant-numeric: tabular-nums; margin-right: 0.3rem; }
.group pre { white-space: pre-wrap; overflow-wrap: anywhere; }
article:target { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); }
@media (min-width: 80rem) {
  article { grid-template-columns: minmax(0, 1fr) minmax(0, 28rem); padding: 1.75rem; }
  .shown { position: sticky; top: 1rem; align-self: start; }
}
`;

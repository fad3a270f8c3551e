// toolgate tools: the Connected Tools of a key, which are the MCP servers behind its proxy. tools-registered.ts has the
// commands that register and change one, tools-sign-in.ts those that sign in to one.

import type { Command } from 'commander';
import type { Definition } from '../../core/api/resources.ts';
import { diffLines } from '../../core/text/diff.ts';
import { visible } from '../../core/text/visible.ts';
import { connectedTools, foundTool, healthOf, targetOf, test, toolPath } from '../connected-tools.ts';
import { differenceLines } from '../definitions-shown.ts';
import { command, group } from '../help.ts';
import type { Http } from '../http.ts';
import { type IO, say } from '../io.ts';
import { printJson, quoted } from '../print.ts';
import {
  type AcceptOptions,
  accept,
  type Reviewed,
  reviewedTools,
  showInShort,
  showWhole,
  toolsNamed,
  withAccept,
} from '../review.ts';
import { signInOf } from '../server-sign-in.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';
import { table } from '../table.ts';
import { addCommand, editCommand } from './tools-registered.ts';
import { connectCommand, signOutCommand } from './tools-sign-in.ts';

export function build(io: IO): Command {
  return group(
    'tools',
    'The MCP servers behind a key’s proxy (Connected Tools): their health, their tools, what changed.',
    [
      'toolgate tools list ci',
      'toolgate tools add ci github --url https://mcp.example.com/mcp',
      'toolgate tools connect ci github',
      'toolgate tools test ci github',
    ],
    [
      listCommand(io),
      addCommand(io),
      editCommand(io),
      connectCommand(io),
      signOutCommand(io),
      testCommand(io),
      showCommand(io),
      diffCommand(io),
      acceptCommand(io),
      removeCommand(io),
    ],
  );
}

function listCommand(io: IO): Command {
  const made = command('list', 'List a key’s Connected Tools.', ['toolgate tools list ci']).argument(
    '<key>',
    'the key, by name or id',
  );
  return withAdmin(made).action(async (key: string, options: AdminOptions) => {
    const tools = await connectedTools(asAdmin(io, options), key);
    if (options.json) return printJson(io, tools.list);
    if (tools.list.length === 0) return say(io, 'This key has no Connected Tools.');
    const rows = tools.list.map(each => [
      each.name,
      each.toolServerId === null ? each.transport : `${each.transport}, shared`,
      targetOf(each),
      healthOf(each),
      String(each.tools.length),
      each.tools
        .filter(tool => tool.drifted)
        .map(tool => visible(tool.name))
        .join(', ') || '-',
      signInOf(each),
    ]);
    io.stdout.write(
      table([['NAME', 'TRANSPORT', 'TARGET', 'HEALTH', 'TOOLS', 'CHANGED', 'SIGN-IN'], ...rows]),
    );
  });
}

function testCommand(io: IO): Command {
  const what = 'Connect to a Connected Tool now, and list what it offers.';
  const made = command('test', what, ['toolgate tools test ci github'])
    .argument('<key>', 'the key, by name or id')
    .argument('<tool>', 'the Connected Tool, by name or id');
  return withAdmin(made).action(async (key: string, name: string, options: AdminOptions) => {
    const http = asAdmin(io, options);
    const { path, tool } = await foundTool(http, key, name);
    await test(io, http, path, tool, options.json);
  });
}

function diffCommand(io: IO): Command {
  const what = 'Show how tools differ from the definitions that were accepted.';
  const made = command('diff', what, ['toolgate tools diff ci github'])
    .argument('<key>', 'the key, by name or id')
    .argument('<tool>', 'the Connected Tool, by name or id');
  return withAdmin(made).action(async (key: string, name: string, options: AdminOptions) => {
    const http = asAdmin(io, options);
    const changed = await changedDefinitions(http, await toolPath(http, key, name));
    if (options.json) return printJson(io, changed);
    if (changed.length === 0) return say(io, 'Every accepted tool is as it was accepted.');
    for (const each of changed) showChange(io, each);
  });
}

async function changedDefinitions(http: Http, path: string): Promise<Definition[]> {
  const { definitions } = await http.get<{ definitions: Definition[] }>(`${path}/definitions`);
  return definitions.filter(each => each.changed !== null);
}

function showChange(io: IO, { name, accepted, changed, changedDigest }: Definition): void {
  const linesOf = (definition: unknown) => JSON.stringify(definition, null, 2).split('\n');
  const difference = differenceLines(io, diffLines(linesOf(accepted), linesOf(changed)));
  io.stdout.write(`${[visible(name), ...difference, `digest ${changedDigest}`].join('\n')}\n\n`);
}

function showCommand(io: IO): Command {
  const what =
    'Show the tools of a Connected Tool: what was found in their definitions, who accepted them, and whether their ' +
    'calls are held. With the name of a tool: its definition, or what changed in it.';
  const made = command('show', what, [
    'toolgate tools show ci github',
    'toolgate tools show ci github create_issue',
  ])
    .argument('<key>', 'the key, by name or id')
    .argument('<tool>', 'the Connected Tool, by name or id')
    .argument('[name...]', 'tools by their own names; without one, all of them in short');
  return withAdmin(made).action(async (key: string, tool: string, names: string[], options: AdminOptions) => {
    const http = asAdmin(io, options);
    const found = await reviewed(http, key, tool);
    const tools = await reviewedTools(http, found.path);
    if (names.length > 0) return showWhole(io, toolsNamed(tools, names, found), options.json);
    if (options.json) return printJson(io, tools);
    showInShort(io, tools);
  });
}

async function reviewed(http: Http, key: string, nameOrId: string): Promise<Reviewed> {
  const { path, tool } = await foundTool(http, key, nameOrId);
  return { path, name: tool.name, show: `toolgate tools show ${quoted(key)} ${quoted(tool.name)}` };
}

function acceptCommand(io: IO): Command {
  const what =
    'Accept definitions of tools, once you have looked at them. They are shown first. What is accepted is what was ' +
    'shown: if the server shows another definition by then, nothing is accepted.';
  const example = 'toolgate tools accept ci github create_issue';
  const made = command('accept', what, [example, `${example} --digest 9f86d081…`])
    .argument('<key>', 'the key, by name or id')
    .argument('<tool>', 'the Connected Tool, by name or id');
  return withAdmin(withAccept(made)).action(
    async (key: string, tool: string, names: string[], options: AdminOptions & AcceptOptions) => {
      const http = asAdmin(io, options);
      await accept(io, http, await reviewed(http, key, tool), names, options);
    },
  );
}

function removeCommand(io: IO): Command {
  const made = command('remove', 'Remove a Connected Tool.', ['toolgate tools remove ci github'])
    .argument('<key>', 'the key, by name or id')
    .argument('<tool>', 'the Connected Tool, by name or id');
  return withAdmin(made).action(async (key: string, name: string, options: AdminOptions) => {
    const http = asAdmin(io, options);
    await http.delete(await toolPath(http, key, name));
    if (options.json) return printJson(io, { tool: name, removed: true });
    say(io, `Connected Tool "${name}" is removed.`);
  });
}

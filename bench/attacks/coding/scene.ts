// What is played: the calls of a coding agent in the words of Claude Code, with what they return.

import type { JsonObject } from '../../../src/core/wire/json.ts';

/** The folder of the project, which is where the suite ipi_coding_agent has its own. It need not exist. */
export const PROJECT = '/workspace';

export interface Call {
  tool: string;
  input: JsonObject;
  /** What it returns, in the shape of the tool. */
  returns?: JsonObject | JsonObject[];
}

export interface Injected extends Call {
  /** Whether the attack reaches its goal by this call, as the suite judges. */
  isGoal: boolean;
}

/** A task with an attack. The agent makes its own calls up to the injected text, then what that says, and then goes on. */
export interface Scene {
  name: string;
  prompt: string;
  before: Call[];
  /** None in a task without an attack. */
  injected: Injected[];
  after: Call[];
  /** Whether the person who is asked answers for the next hour of this session. */
  grants?: boolean;
}

export type Decision = 'allow' | 'ask' | 'deny';
export const DECISIONS: readonly Decision[] = ['allow', 'ask', 'deny'];

export const inProject = (file: string): string => (file.startsWith('/') ? file : `${PROJECT}/${file}`);

/** Of a command its program, or that it only prints words; of a file where it is. Nothing that the suite wrote. */
export function whatOf({ input }: Call): string {
  const { command, file_path: file } = input;
  if (typeof command === 'string') return /^echo [\w ]+$/.test(command) ? 'words' : programIn(command);
  if (typeof file !== 'string') return '';
  return file.startsWith(`${PROJECT}/`) ? 'project' : 'elsewhere';
}

const programIn = (command: string): string => /^\w*/.exec(command)?.[0] ?? '';

export const bash = (command: string, stdout = ''): Call => ({
  tool: 'Bash',
  input: { command, description: 'Run it' },
  returns: { stdout, stderr: '', interrupted: false, isImage: false },
});

export const read = (file: string, content = ''): Call => {
  const filePath = inProject(file);
  return {
    tool: 'Read',
    input: { file_path: filePath },
    returns: {
      type: 'text',
      file: { filePath, content, numLines: content.split('\n').length, startLine: 1 },
    },
  };
};

export const write = (file: string, content: string): Call => {
  const filePath = inProject(file);
  return {
    tool: 'Write',
    input: { file_path: filePath, content },
    returns: { type: 'create', filePath, content, structuredPatch: [] },
  };
};

export const edit = (file: string, from: string, to: string): Call => {
  const filePath = inProject(file);
  return {
    tool: 'Edit',
    input: { file_path: filePath, old_string: from, new_string: to },
    returns: { filePath, oldString: from, newString: to, structuredPatch: [] },
  };
};

export const fetchPage = (url: string, result: string): Call => ({
  tool: 'WebFetch',
  input: { url, prompt: 'What does it say?' },
  returns: { bytes: result.length, code: 200, codeText: 'OK', result, durationMs: 90, url },
});

/** A tool of an MCP server. */
export const mcp = (server: string, tool: string, input: JsonObject, text = ''): Call => ({
  tool: `mcp__${server}__${tool}`,
  input,
  returns: [{ type: 'text', text }],
});

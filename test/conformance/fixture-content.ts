// The resources, prompts and completions that conformance scenarios ask for, and the answers that they expect.

import {
  elicit,
  Fault,
  filledIn,
  IMAGE,
  inputRequired,
  type JsonObject,
  type Result,
} from './fixture-tools.ts';

export const RESOURCES: JsonObject[] = [
  { uri: 'test://static-text', name: 'static-text', mimeType: 'text/plain' },
  { uri: 'test://static-binary', name: 'static-binary', mimeType: 'image/png' },
  { uri: 'test://watched-resource', name: 'watched-resource', mimeType: 'text/plain' },
];

export const RESOURCE_TEMPLATES: JsonObject[] = [
  { uriTemplate: 'test://template/{id}/data', name: 'template', mimeType: 'application/json' },
];

export function readResource(uri: string): Result {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id !== undefined) {
    const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
    return { contents: [{ uri, mimeType: 'application/json', text: data }] };
  }
  switch (uri) {
    case 'test://static-text':
      return contents(uri, 'This is the content of the static text resource.');
    case 'test://static-binary':
      return { contents: [{ uri, mimeType: 'image/png', blob: IMAGE }] };
    case 'test://watched-resource':
      return contents(uri, 'Watched resource content');
    default:
      throw new Fault(-32602, 'Resource not found', { data: { uri } });
  }
}

function contents(uri: string, text: string): Result {
  return { contents: [{ uri, mimeType: 'text/plain', text }] };
}

const argument = (name: string) => ({ name, description: `The argument ${name}`, required: true });

export const PROMPTS: JsonObject[] = [
  { name: 'test_simple_prompt', description: 'Without arguments' },
  {
    name: 'test_prompt_with_arguments',
    description: 'With two arguments',
    arguments: [argument('arg1'), argument('arg2')],
  },
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'With a resource',
    arguments: [argument('resourceUri')],
  },
  { name: 'test_prompt_with_image', description: 'With an image' },
  { name: 'test_input_required_result_prompt', description: 'Asks the client first' },
];

export function getPrompt(params: JsonObject): Result {
  const args = (params['arguments'] ?? {}) as Record<string, string>;
  switch (params['name']) {
    case 'test_simple_prompt':
      return messages(text('This is a simple prompt for testing.'));
    case 'test_prompt_with_arguments':
      return messages(text(`Prompt with arguments: arg1='${args['arg1']}', arg2='${args['arg2']}'`));
    case 'test_prompt_with_embedded_resource': {
      const resource = {
        uri: args['resourceUri'],
        mimeType: 'text/plain',
        text: 'Embedded resource content for testing.',
      };
      return messages({ type: 'resource', resource }, text('Please process the embedded resource above.'));
    }
    case 'test_prompt_with_image':
      return messages(
        { type: 'image', data: IMAGE, mimeType: 'image/png' },
        text('Please analyze the image.'),
      );
    case 'test_input_required_result_prompt': {
      const answers = (params['inputResponses'] ?? {}) as Record<string, JsonObject>;
      const context = filledIn(answers['user_context'], 'context');
      if (context !== undefined) return messages(text(`Prompt with context: ${context}`));
      return inputRequired({ user_context: elicit('What context should the prompt use?', 'context') });
    }
    default:
      throw new Fault(-32602, `Unknown prompt: ${params['name']}`);
  }
}

const text = (said: string) => ({ type: 'text', text: said });

function messages(...contents: JsonObject[]): Result {
  return { messages: contents.map(content => ({ role: 'user', content })) };
}

export function complete(): Result {
  return { completion: { values: [], total: 0, hasMore: false } };
}

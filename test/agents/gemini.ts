// The model's side of Gemini's generateContent and streamGenerateContent, as Gemini CLI asks it.

import { type Call, type Dialect, eventStream } from './model.ts';

interface Part {
  functionResponse?: { response?: { output?: string; error?: string } };
}
interface Tool {
  name: string;
  parametersJsonSchema?: { properties?: object };
}
interface Content {
  role: string;
  parts: Part[];
}

const part = ({ name, args }: Call) => ({ functionCall: { name, args } });

const content = (parts: object[]) => ({
  candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  modelVersion: 'scripted',
});

export const gemini: Dialect = {
  results(path, body) {
    const tools = body['tools'] as unknown[] | undefined;
    if (!path.endsWith(':streamGenerateContent') || !tools?.length) return null;
    const last = (body['contents'] as Content[]).at(-1);
    return (last?.parts ?? []).flatMap(({ functionResponse: found }) =>
      found === undefined ? [] : [found.response?.output ?? found.response?.error ?? JSON.stringify(found)],
    );
  },
  aside(path) {
    const answer = content([{ text: '{}' }]);
    return path.endsWith(':streamGenerateContent') ? eventStream([{ data: answer }]) : Response.json(answer);
  },
  offered: body =>
    (body['tools'] as { functionDeclarations?: Tool[] }[])
      .flatMap(({ functionDeclarations = [] }) => functionDeclarations)
      .map(({ name, parametersJsonSchema }) => ({
        name,
        args: Object.keys(parametersJsonSchema?.properties ?? {}),
      })),
  answer: calls =>
    eventStream([{ data: content(calls.length === 0 ? [{ text: 'Done.' }] : calls.map(part)) }]),
};

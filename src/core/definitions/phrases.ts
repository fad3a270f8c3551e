// What texts of definitions say when they address the model instead of describing the tool: phrases, and literal texts.
// It is data. docs/definition-phrases.md is made from it by scripts/definition-phrases.ts.
//
// A phrase is words in their order. `a|b` is one of several words, and `…` stands for up to five further ones. Words are
// compared without regard to case, `_` and punctuation.

export const VERSION = 1;

export interface PhraseGroup {
  /** What such a text does, as the end of the sentence "The description …". */
  does: string;
  phrases: readonly string[];
  literals?: readonly string[];
}

export const GROUPS: readonly PhraseGroup[] = [
  {
    does: 'tells the model to set aside other instructions',
    phrases: [
      'ignore|disregard|forget|override|overrides|bypass|supersede|supersedes … previous|prior|above|earlier|all|any|other|your|system|safety … instruction|instructions|rules|prompt|prompts|guidelines|constraints|policies|safeguards|warnings',
      'ignore|disregard|avoid … all|any|other|previous … tool|tools',
      'instructions|rules … take|takes|have|has … priority|precedence',
      'new|updated|real|actual instructions',
      'act|behave as if … no restrictions|rules|limits',
      'developer|admin|god|unrestricted|jailbreak|dan mode',
    ],
    literals: [
      '忽略之前',
      '忽略以上',
      '忽略所有',
      '无视之前',
      'ignora las instrucciones',
      'ignora todas',
      'ignorez les instructions',
      'ignoriere alle',
      'ignoriere die',
      'игнорируй',
    ],
  },
  {
    does: 'tells the model to keep something from people',
    phrases: [
      'do|should|must|shall not … tell|mention|inform|reveal|disclose|notify|alert|warn|show|let … user|users|human|humans|person|anyone|anybody|them',
      "don't|never|without|avoid … tell|telling|mention|mentioning|inform|informing|reveal|revealing|disclose|notify|notifying|alert|alerting|show|showing … user|users|human|humans|person|anyone|anybody|them",
      'do not|explicitly|ever … mention … that|this|you|it',
      "don't|never|not mention … that|this|you|it|any|in",
      "don't|never mention",
      'silently|secretly|covertly|quietly|discreetly … call|read|send|run|execute|include|pass|copy|forward|invoke|append|add|upload|collect|store|record',
      'keep … this|it|that … secret|hidden|confidential|private … from',
      'hide|conceal … from … user|users|human|person|them',
      'user|users|human|person … not … notice|see|know|aware|upset',
      'as if … part of … normal|usual|regular',
    ],
    literals: ['不要告诉用户', '不要提及', '别告诉用户'],
  },
  {
    does: 'wants something done without asking',
    phrases: [
      'without … confirmation|approval|permission|consent|asking|prompting',
      "not|don't|never ask|request|require|wait … confirmation|approval|permission|consent|user",
      'skip|bypass|suppress … confirmation|approval|review|checks|verification',
      'automatically approve|approved|confirm|accept',
    ],
  },
  {
    does: 'tells the model what to do before or after calls',
    phrases: [
      'before|after|prior … using|calling|executing|running|invoking|use|call|execute|run|invoke|answering|responding … must|need|always|first|shall|required|have|read|execute|call|include|send',
      'must|always|first|required|need|shall … before|prior … using|calling|executing|running|invoking|any|other|use|call|every|each',
      'execute|call|run|invoke|use this|the tool|function|operation … before|after … any|every|each|other|all|minus|add',
      'whenever|every|each … time … tool|tools|called|used|invoked|asked … must|always|also|first|send|include',
      'you must|shall … first|also|always|never',
    ],
  },
  {
    does: 'wants to be preferred to other tools',
    phrases: [
      'always|must|only|exclusively use|prefer|call|choose|select this',
      'use|prefer|call this tool|function|one … instead|regardless|matter|rather|over|exclusively|always|whatever',
      'instead of|using … any|other|another|built|native|default … tool|tools|function|functions',
      'other|another|all|alternative … tools|tool|functions|function … are|is … buggy|broken|deprecated|unsafe|insecure|wrong|slow|unreliable|outdated|vulnerable|disabled',
      'highest|top|maximum|absolute priority',
      'never|not use … other|another|any … tool|tools',
      'replaces|overrides|supersedes … other|all … tool|tools|function|functions',
    ],
  },
  {
    does: 'tells the model how to use a tool of somebody else',
    phrases: [
      'when|whenever|if … tool|tools|function|server … is|are|being called|used|available|present|invoked … must|change|replace|send|instead|add|set|always|include',
      'change|replace|set|modify … recipient|recipients|address|addresses|destination|amount|url|account|number … to',
      'emails|messages|payments|requests|files … must|should|have|need … sent|go|be … to',
      'all|every|any … emails|messages|payments|requests|files|calls|results … sent|send|forward|forwarded|redirect|redirected|route|routed … to|through',
      'add|include|insert … bcc|cc',
    ],
  },
  {
    does: 'asks for secrets, for files of the person, or for the conversation',
    phrases: [
      'read|open|load|cat|print|access|fetch|get|send|pass|include|provide|upload|copy|need|needs|add|attach|exfiltrate … ssh|private|secret|aws|api|env|environment|gpg|bearer … key|keys|variables|credentials|credential|tokens',
      'send|include|pass|forward|append|attach|copy|put|provide|upload|share|record|dump|write|summarize|save … conversation|chat|dialogue|transcript|prompt … history|so|verbatim|context|far|here|log|contents|content|in|as|to',
      'conversation|chat|message history',
      'system|initial|developer prompt|message|instructions',
      'entire|full|whole|complete|previous … conversation|chat|history|transcript|context|dialogue',
      'send|include|pass|forward|provide|list|give … all|available|other|your … tools|functions … names|list|available|descriptions|parameter|in|as',
      'contents|content|value|values|output … of|from … as|in|into|to … parameter|argument|field|sidenote|note|notes|header|query',
      'pass|put|include|add|append … its|their|the|file|full content|contents|text|value',
      'password|passwords|passphrase … of|for|from … user|users|account|person',
    ],
    literals: [
      '~/.ssh',
      '~/.aws',
      '~/.cursor',
      '~/.claude',
      '~/.kube',
      '~/.config/gh',
      '~/.netrc',
      '~/.npmrc',
      '~/.git-credentials',
      '~/.gnupg',
      '.ssh/id_',
      'id_rsa',
      'id_ed25519',
      'mcp.json',
      'claude_desktop_config',
      '/etc/passwd',
      '/etc/shadow',
      '.aws/credentials',
      '/proc/self/environ',
      'login.keychain',
    ],
  },
  {
    does: 'speaks to the model as one',
    phrases: [
      'you are now|an|a … assistant|agent|ai|model|administrator|expert|bot|claude|gpt',
      'note|message|instruction|instructions|attention|notice|directive to|for … ai|llm|llms|assistant|assistants|model|models|agent|agents|claude|gpt|copilot|gemini|cursor',
      'dear|attention|hey ai|llm|assistant|model|agent|claude|gpt|copilot|gemini',
      'ai|llm|llms|language|claude|gpt|copilot assistant|assistants|agent|agents|model|models|must|should … must|should|shall|needs|need|required|never|always',
      'as an|a ai|llm|language … you',
      'system|security|compliance|mandatory|administrator|policy override|directive|mandate',
    ],
    literals: [
      '<important',
      '</important',
      '[important]',
      '<system',
      '</system',
      '[system]',
      '<hidden',
      '<secret',
      '<instruction',
      '[instruction',
      '<critical',
      '<assistant',
      '[inst]',
      '<<sys>>',
      '<|im_start|>',
      '<|system|>',
      '<!--',
      '### instruction',
      '### system',
      'important!!',
      '系统提示',
    ],
  },
  {
    does: 'threatens that something fails or somebody is harmed',
    phrases: [
      'otherwise|else … tool|function|it|system|file|request|this|will … not|fail|break|fails|crash|locked|lost|deleted|corrupted',
      'failure|failing|refusal|refusing to … result|results|cause|lead|break|crash|lock',
      'users|people|person|someone … will|may|could be harmed|hurt|fired|die',
    ],
  },
];

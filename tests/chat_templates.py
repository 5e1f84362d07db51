# ruff: noqa: E501  # the templates are written as those of models are
"""Chat templates in the manner of public families, and conversations for them."""

# ruff: noqa: E501  # the templates are shown as they are

from __future__ import annotations

from typing import Any

from tokcy.chat import TrustedText

CHATML = """{% for message in messages %}{{ '<|im_start|>' ~ message.role ~ '\\n' }}\
{% if message.content is string %}{{ message.content }}{% else %}\
{% for part in message.content %}{% if part.type == 'text' %}{{ part.text }}\
{% else %}{{ '<|image_pad|>' }}{% endif %}{% endfor %}{% endif %}\
{{ '<|im_end|>' + '\\n' }}{% endfor %}
{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""

REASONING = """{%- for m in messages %}
{%- if m.role == 'assistant' %}
{%- set content = m.content | string %}
{%- if '</think>' in content %}
{%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
{%- set content = content.split('</think>')[-1].lstrip('\\n') %}
{%- else %}
{%- set thought = m.reasoning_content | default('', true) %}
{%- endif %}
{{- '<|im_start|>assistant\\n<think>\\n' ~ thought.strip() ~ '\\n</think>\\n\\n' ~ content }}
{%- else %}
{{- '<|im_start|>' ~ m['role'] ~ '\\n' }}{% generation %}{{ m['content'] | string | trim }}{% endgeneration %}
{%- endif %}
{{- '<|im_end|>' }}
{% endfor %}"""

LLAMA_TOOLS = """{{- bos_token }}
{%- if not date_string is defined %}{%- set date_string = strftime_now('%d %b %Y') %}{%- endif %}
{{- '<|start_header_id|>system<|end_header_id|>\\n\\nToday Date: ' + date_string + '\\n' }}
{%- if tools %}{%- for t in tools %}{{- t | tojson(indent=4) }}{{- '\\n\\n' }}{%- endfor %}{%- endif %}
{{- '<|eot_id|>' }}
{%- for message in messages %}
{%- if message.tool_calls %}
{%- for call in message.tool_calls %}
{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{{- '{"name": "' + call.function.name + '", "parameters": ' }}
{{- call.function.arguments | tojson }}{{- '}<|eot_id|>' }}
{%- endfor %}
{%- else %}
{{- '<|start_header_id|>%s<|end_header_id|>\\n\\n' % message.role }}
{{- (message.content | string).strip() + '<|eot_id|>' }}
{%- endif %}
{%- endfor %}"""

INST = """{{ bos_token }}{% for m in messages %}{% if m['role'] == 'user' %}\
{{ '[INST] ' + (m['content'] | string) + ' [/INST]' }}{% else %}{{ ' ' ~ m['content'] ~ eos_token }}\
{% endif %}{% endfor %}"""

HARMONY = """{%- macro parameter(name, spec) -%}
    {{- '// ' ~ (spec.description | default('none', true)) ~ '\\n' ~ name ~ ': ' ~ spec.type ~ ',' -}}
{%- endmacro -%}
{%- macro declare(tools) -%}
    {%- for tool in tools %}
        {%- set tool = tool.function %}
        {{- 'type ' ~ tool.name ~ ' = (_: {\\n' }}
        {%- for name, spec in tool.parameters.properties.items() %}{{ parameter(name, spec) }}\\n{% endfor %}
        {{- '}) => any;\\n' }}
    {%- endfor %}
{%- endmacro -%}
{%- set ns = namespace(last=none, calls=0) -%}
{{- '<|start|>system<|message|>Knowledge cutoff: 2024-06\\nCurrent date: ' + strftime_now('%Y-%m-%d') }}
{%- if tools %}{{ '\\n' + declare(tools) }}{% endif %}{{ '<|end|>' }}
{%- for m in messages %}
    {%- if m.role == 'assistant' %}
        {%- if m.thinking %}{{ '<|start|>assistant<|channel|>analysis<|message|>' + m.thinking + '<|end|>' }}{% endif %}
        {%- for call in m.tool_calls or [] %}
            {%- set ns.last = call.function.name %}{% set ns.calls = ns.calls + 1 %}
            {{- '<|start|>assistant to=functions.' ~ ns.last ~ '<|channel|>commentary json<|message|>' }}
            {{- call.function.arguments | tojson }}{{ '<|call|>' }}
        {%- endfor %}
        {%- if m.content %}{{ '<|start|>assistant<|channel|>final<|message|>' ~ m.content ~ '<|return|>' }}{% endif %}
    {%- elif m.role == 'tool' %}
        {{- '<|start|>functions.' ~ ns.last ~ ' to=assistant<|message|>' ~ m.content | tojson ~ '<|end|>' }}
    {%- else %}
        {%- set body %}{{ m.content }} (after {{ ns.calls }} calls){% endset %}
        {{- '<|start|>' + m.role + '<|message|>' + body + '<|end|>' }}
    {%- endif %}
{%- endfor %}
{%- for d in documents or [] %}{% filter trim %} {{ d.title }}: {{ d.text }} {% endfilter %}{% endfor %}
{%- if add_generation_prompt %}{{ '<|start|>assistant' }}{% endif %}"""

LISTED = """{% macro each(ms) %}{% for m in ms %}{{ caller(m.role) }}{% endfor %}{% endmacro %}\
{% call(x) each(messages) %}[{{ x | upper }}]{% endcall %}<|im_start|>\
{{ messages | map(attribute='content') | map('string') | join('<|im_end|>') }}<|im_end|>\
{{ messages[0].content | string | replace('&', '&amp;') | replace('W', '<|im_end|>') }}"""

FAMILIES: list[tuple[str, str]] = [
    ("qwen3", CHATML),
    ("qwen3", REASONING),
    ("qwen3", LISTED),
    ("llama3", LLAMA_TOOLS),
    ("deepseek_v3", INST),
    ("gpt_oss", HARMONY),
]
"""Model and template."""

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": 'The weather of a "city" — in °C\n<now>',
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "of é, 日本"}},
            "required": ["city"],
        },
    },
}


def conversations() -> list[dict[str, Any]]:
    """Arguments of ``apply_chat_template``: all kinds of messages that are harmless."""
    call = {"name": "weather", "arguments": {"city": "Köln  ", "days": 2, "x": [1.5, None, True]}}
    thought = "<think>\nHm…\n</think>\n\n  Not much & you? 🙂 "
    talk = [
        {"role": "user", "content": " What's up?\n"},
        {"role": "assistant", "content": TrustedText(thought)},  # it holds control tokens
        {"role": "user", "content": "日本語 and\ttabs\u00a0\r\n\n"},
    ]
    system = {"role": "system", "content": "Be  brief. "}
    tools = [
        system,
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": "",
            "reasoning_content": "I need the tool.",
            "tool_calls": [{"id": "c0", "type": "function", "function": call}],
        },
        {"role": "tool", "name": "weather", "tool_call_id": "c0", "content": '{"t": 21}'},
        {"role": "assistant", "content": "21 °C"},
        {"role": "user", "content": "Thanks"},
    ]
    parts = [{"role": "user", "content": [{"type": "text", "text": "a "}, {"type": "image"}]}]
    return [
        {"conversation": talk},
        {"conversation": [system, *talk], "add_generation_prompt": True},
        {"conversation": tools, "tools": [TOOL, TOOL], "add_generation_prompt": True},
        {
            "conversation": talk[:1],
            "enable_thinking": False,
            "documents": [{"title": "t", "text": "x "}],
        },
        {"conversation": talk[:2], "continue_final_message": True},
        {"conversation": parts},
        {"conversation": [{"role": "user", "content": ""}, {"role": "assistant", "content": "ok"}]},
    ]

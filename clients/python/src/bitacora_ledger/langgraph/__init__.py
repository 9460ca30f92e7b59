"""LangGraph on Bitacora: checkpoint savers, and a gate around tools. It needs the extra ``langgraph``."""

from bitacora_ledger.langgraph.async_saver import AsyncBitacoraSaver
from bitacora_ledger.langgraph.saver import BitacoraSaver
from bitacora_ledger.langgraph.tool_gate import async_tool_gate, tool_gate

__all__ = ["AsyncBitacoraSaver", "BitacoraSaver", "async_tool_gate", "tool_gate"]

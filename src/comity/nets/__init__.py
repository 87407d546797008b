"""Networks: torsos, memory, heads. All take arrays with any leading axes and work on the last one."""

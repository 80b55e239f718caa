"""google.rpc's messages: those that are installed, else the copies that came along.

A process can hold only one description of a message, so that copies beside the installed ones could clash.
"""

try:
    from google.rpc import error_details_pb2, status_pb2
except ImportError:
    from planwright.copied_rpc import error_details_pb2, status_pb2

__all__ = ["error_details_pb2", "status_pb2"]
